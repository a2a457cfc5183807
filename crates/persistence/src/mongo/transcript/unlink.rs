//! Removes the link to a deleted call from the messages that name it.

use std::collections::BTreeSet;
use std::ops::Range;

use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use records::{CallId, ChatId, MessageBody, Scope};
use serde_json::Value;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::CHAT_SEGMENTS;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    Lineage, PRODUCED_BY_PATH, Segment, Tail, VersionKey, counter, open_chat_session, segment_id,
    versions_filter,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::writable_chat;
use crate::mongo::engine::transaction::Transaction;
use crate::mongo::transcript::edit::{FoundMessage, MessageLocation, push_recent_edits};
use crate::mongo::transcript::reader::gap_error;

/// Where the version of a message names the call that has produced the message.
const VERSION_LINK: &str = "message.produced_by_call_id";

/// The most segments, and the most shared messages, that one transaction changes. Appends wait for the
/// transaction, because it locks the session.
const BATCH: usize = 64;

/// How far the messages of a call are unlinked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// Below this sequence, where a segment begins, no sealed message that is shared with other chats names
    /// the call, unless a version of the message does.
    shared_below: u64,
    /// No message of the chat names the call.
    pub(crate) is_complete: bool,
}

impl Progress {
    pub(crate) fn completed(self) -> Self {
        Self { is_complete: true, ..self }
    }
}

/// What a transaction has unlinked.
#[derive(Debug, Default)]
struct Unlinked {
    sequences: BTreeSet<u64>,
    /// More messages may name the call.
    has_more: bool,
}

/// A segment with messages that name a call.
struct LinkedSegment {
    first_sequence: u64,
    /// The sequences of these messages.
    linked: Vec<u64>,
}

impl MongoStore {
    /// Unlinks messages that name a call, as many as one transaction may change. Each counts as edited.
    ///
    /// Takes the progress so far, and returns the progress for the next transaction.
    pub(crate) async fn unlink_within(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
        mut progress: Progress,
    ) -> Result<Progress, Failure> {
        let nothing = || doc! { "messages.$[produced].produced_by_call_id": null };
        let of_call = || doc! { "produced.produced_by_call_id": call_id.as_str() };
        let sessions = &self.inner.chat_sessions;

        // The session is updated first, even if its tail does not name the call: concurrent appends and
        // edits then wait for this transaction. Otherwise each of them could make it fail.
        let unlink = doc! { "$set": nothing(), "$inc": { "revision": 1_i64 } };
        let unlink = sessions.find_one_and_update(writable_chat(scope, chat_id), unlink);
        let fields = Lineage::add_to_projection(with_links(Tail::projection()));
        let unlink = unlink.array_filters([of_call()]).projection(fields);
        let before = unlink.session(&mut *tx.session().await?).await?;
        let Some(before) = before else {
            return Err(self.classify_unmatched(scope, chat_id).await?);
        };
        let fields = open_chat_session(&before)?;
        let first_sequence = Tail::read(&fields)?.first_sequence;
        let lineage = Lineage::read(chat_id, &fields)?;

        let own = self.unlink_unshared(tx, scope, &lineage, first_sequence, call_id).await?;
        let shared = self.unlink_all_shared(tx, scope, &lineage, call_id, &mut progress).await?;
        let mut unlinked = own.sequences;
        unlinked.extend(shared.sequences);
        unlinked.extend(linked(first_sequence, &fields, call_id)?);

        // The first update has already incremented the revision by one.
        let further = counter(unlinked.len() as u64) - 1;
        let note = doc! { "$inc": { "revision": further }, "$push": push_recent_edits(unlinked) };
        let update = sessions.update_one(writable_chat(scope, chat_id), note);
        update.session(&mut *tx.session().await?).await?;
        progress.is_complete = !own.has_more && !shared.has_more;
        Ok(progress)
    }

    /// Unlinks sealed messages that belong to this chat alone, in their segments, the newest first.
    async fn unlink_unshared(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        lineage: &Lineage,
        sealed_below: u64,
        call_id: &CallId,
    ) -> Result<Unlinked, Failure> {
        let (chat_id, shared_below) = (lineage.chat_id(), lineage.shared_below());
        let mut found =
            self.linked_segments(tx, scope, chat_id, 0..sealed_below, -1, call_id).await?;
        // The newest are first, so all segments after one with only shared messages are shared, too.
        for segment in &mut found {
            segment.linked.retain(|sequence| *sequence >= shared_below && *sequence < sealed_below);
        }
        let own = found.iter().take_while(|segment| !segment.linked.is_empty()).count();
        let has_more = own > BATCH;
        found.truncate(own.min(BATCH));
        if found.is_empty() {
            return Ok(Unlinked::default());
        }
        let updates = found.iter().map(|segment| {
            let field = |sequence: &u64| {
                let index = sequence - segment.first_sequence;
                (format!("messages.{index}.{}", MessageBody::PRODUCED_BY), Bson::Null)
            };
            let nothing: Document = segment.linked.iter().map(field).collect();
            let one = doc! {
                "_id": segment_id(chat_id, segment.first_sequence),
                "app_id": scope.app_id.as_str(),
            };
            doc! { "q": one, "u": { "$set": nothing, "$inc": { "edits": 1_i64 } } }
        });
        let updates: Vec<Document> = updates.collect();
        let command = doc! { "update": CHAT_SEGMENTS, "updates": updates };
        self.inner.database.run_command(command).session(&mut *tx.session().await?).await?;
        let sequences = found.into_iter().flat_map(|segment| segment.linked).collect();
        Ok(Unlinked { sequences, has_more })
    }

    /// Unlinks sealed messages that other chats share, for this chat alone, the oldest first.
    ///
    /// Their segments never change, so those that were read need not be read again. New versions of the
    /// messages may name the call, so versions are searched each time.
    async fn unlink_all_shared(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        lineage: &Lineage,
        call_id: &CallId,
        progress: &mut Progress,
    ) -> Result<Unlinked, Failure> {
        let mut unlinked = Unlinked { has_more: true, ..Unlinked::default() };
        for (chat_id, piece) in lineage.pieces(progress.shared_below..lineage.shared_below()) {
            let found = self.linked_segments(tx, scope, chat_id, piece.clone(), 1, call_id).await?;
            let is_last = found.len() <= BATCH;
            for LinkedSegment { first_sequence, linked } in found {
                progress.shared_below = first_sequence;
                if unlinked.sequences.len() >= BATCH {
                    return Ok(unlinked);
                }
                for sequence in linked.into_iter().filter(|sequence| piece.contains(sequence)) {
                    if self.unlink_shared(tx, scope, lineage, sequence, call_id).await? {
                        unlinked.sequences.insert(sequence);
                    }
                }
            }
            if !is_last {
                return Ok(unlinked);
            }
            progress.shared_below = piece.end;
        }
        for sequence in self.versions_of_call(scope, lineage, call_id).await? {
            if unlinked.sequences.len() >= BATCH {
                return Ok(unlinked);
            }
            if !unlinked.sequences.contains(&sequence)
                && self.unlink_shared(tx, scope, lineage, sequence, call_id).await?
            {
                unlinked.sequences.insert(sequence);
            }
        }
        unlinked.has_more = false;
        Ok(unlinked)
    }

    /// Finds the segments of a chat that begin within a span and have messages that name a call: at most
    /// one more than a transaction may change.
    async fn linked_segments(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        span: Range<u64>,
        order: i32,
        call_id: &CallId,
    ) -> Result<Vec<LinkedSegment>, Failure> {
        let filter = doc! {
            "app_id": scope.app_id.as_str(),
            "_id.chat_id": chat_id.as_str(),
            PRODUCED_BY_PATH: call_id.as_str(),
            "_id.first_sequence": { "$gte": counter(span.start), "$lt": counter(span.end) },
        };
        let find = self.inner.chat_segments.find(filter);
        let find = find.sort(doc! { "_id.first_sequence": order }).limit(counter(BATCH as u64) + 1);
        let find = find.projection(with_links(doc! { "schema_version": 1 }));
        let mut session = tx.session().await?;
        let mut found = find.session(&mut *session).await?;
        let mut segments = Vec::new();
        while let Some(raw) = found.next(&mut session).await {
            let raw = raw?;
            let (first_sequence, fields) = Segment::open(chat_id, &raw)?;
            let linked = linked(first_sequence, &fields, call_id)?;
            segments.push(LinkedSegment { first_sequence, linked });
        }
        Ok(segments)
    }

    /// Returns the sequences of the shared messages that have a version that names a call.
    async fn versions_of_call(
        &self,
        scope: &Scope,
        lineage: &Lineage,
        call_id: &CallId,
    ) -> Result<Vec<u64>, Failure> {
        let editors = lineage.editors(&(0..lineage.shared_below()));
        if editors.is_empty() {
            return Ok(Vec::new());
        }
        let mut filter = versions_filter(&scope.app_id, &editors, 0);
        filter.insert(VERSION_LINK, call_id.as_str());
        let find = self.inner.message_versions.find(filter);
        let found = find.projection(VersionKey::projection()).await?;
        let found: Vec<_> = found.try_collect().await?;
        let sequence = |raw: &RawDocumentBuf| {
            Ok(VersionKey::read(lineage.chat_id(), raw).map(|key| key.sequence)?)
        };
        found.iter().map(sequence).collect()
    }

    /// Unlinks a shared message in this chat alone; returns whether it names the call in this chat.
    ///
    /// The message is read outside the transaction. This is safe: another change of what this chat shows
    /// of the message would increment the revision of the session, which the transaction has locked.
    async fn unlink_shared(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        lineage: &Lineage,
        sequence: u64,
        call_id: &CallId,
    ) -> Result<bool, Failure> {
        let found = self.find_sealed(scope, lineage.clone(), sequence).await?;
        let FoundMessage { mut stored, place } =
            found.ok_or_else(|| gap_error(lineage.chat_id()))?;
        let link = stored.message.body.extra.get_mut(MessageBody::PRODUCED_BY);
        let link = link.filter(|link| link.as_str() == Some(call_id.as_str()));
        let (Some(link), MessageLocation::Shared(shared)) = (link, place) else { return Ok(false) };
        *link = Value::Null;
        self.tag_change(&scope.app_id, lineage.chat_id(), &mut stored);
        let before = shared.version.as_ref();
        self.write_version(tx, scope, lineage, &stored, before).await?;
        Ok(true)
    }
}

fn with_links(mut projection: Document) -> Document {
    projection.insert(PRODUCED_BY_PATH, 1);
    projection
}

/// Returns the sequences of the messages that name a call.
fn linked(
    first_sequence: u64,
    fields: &Fields<'_>,
    call_id: &CallId,
) -> Result<Vec<u64>, StoreError> {
    let mut linked = Vec::new();
    for (sequence, message) in (first_sequence..).zip(fields.documents("messages")?) {
        if message?.field(MessageBody::PRODUCED_BY)?.raw().as_str() == Some(call_id.as_str()) {
            linked.push(sequence);
        }
    }
    Ok(linked)
}
