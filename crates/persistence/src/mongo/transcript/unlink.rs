//! Messages that name a call which is deleted, and name none from then on.

use std::collections::BTreeSet;

use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use records::{CallId, ChatId, MessageBody, Scope};
use serde_json::Value;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    Lineage, Segment, Tail, VersionKey, counter, open_chat_session, segment_id, segments_between,
    versions_by,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::writable_chat;
use crate::mongo::engine::transaction::Transaction;
use crate::mongo::transcript::edit::{Found, Place, noted};
use crate::mongo::transcript::reader::has_gap;

/// Where a stored message names its call.
const LINK: &str = "messages.produced_by_call_id";

/// Where a version of one does.
const VERSION_LINK: &str = "message.produced_by_call_id";

impl MongoStore {
    /// Unlinks the messages that name a call; each of them counts as edited.
    pub(crate) async fn unlink_within(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
    ) -> Result<(), Failure> {
        let nothing = || doc! { "messages.$[produced].produced_by_call_id": null };
        let of_call = || doc! { "produced.produced_by_call_id": call_id.as_str() };
        let sessions = &self.inner.chat_sessions;

        // First, and whether or not the tail names the call, so that appends which come meanwhile wait
        // for this, and not the reverse.
        let unlink = doc! { "$set": nothing(), "$inc": { "revision": 1_i64 } };
        let unlink = sessions.find_one_and_update(writable_chat(scope, chat_id), unlink);
        let fields = Lineage::projected(with_links(Tail::projection()));
        let unlink = unlink.array_filters([of_call()]).projection(fields);
        let before = unlink.session(&mut *tx.session().await?).await?;
        let Some(before) = before else {
            return Err(self.classify_unmatched(scope, chat_id).await?);
        };
        let fields = open_chat_session(&before)?;
        let first_sequence = Tail::read(&fields)?.first_sequence;
        let lineage = Lineage::read(chat_id, &fields)?;
        let in_tail = linked(first_sequence, &fields, call_id)?;

        let mut unlinked = self.unlink_sealed(tx, scope, &lineage, first_sequence, call_id).await?;
        unlinked.extend(in_tail);

        // One move of the revision is made already.
        let further = counter(unlinked.len() as u64) - 1;
        let note = doc! { "$inc": { "revision": further }, "$push": noted(unlinked) };
        let update = sessions.update_one(writable_chat(scope, chat_id), note);
        update.session(&mut *tx.session().await?).await?;
        Ok(())
    }

    /// Unlinks those that are sealed; returns their sequences, in order.
    async fn unlink_sealed(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        lineage: &Lineage,
        sealed_below: u64,
        call_id: &CallId,
    ) -> Result<BTreeSet<u64>, Failure> {
        let segments = &self.inner.chat_segments;
        let shared_below = lineage.shared_below();
        let (mut unlinked, mut shared) = (BTreeSet::new(), BTreeSet::new());
        for (chat_id, piece) in lineage.pieces(0..sealed_below) {
            let mut filter = segments_between(scope, chat_id, piece.clone());
            filter.insert(LINK, call_id.as_str());
            let find = segments.find(filter).projection(with_links(doc! { "schema_version": 1 }));
            let mut session = tx.session().await?;
            let mut found = find.session(&mut *session).await?;
            let found: Vec<_> = found.stream(&mut session).try_collect().await?;
            drop(session);
            for raw in found {
                let (first_sequence, fields) = Segment::open(chat_id, &raw)?;
                let linked = linked(first_sequence, &fields, call_id)?.into_iter();
                let (of_others, own): (Vec<_>, Vec<_>) = linked
                    .filter(|sequence| piece.contains(sequence))
                    .partition(|sequence| *sequence < shared_below);
                shared.extend(of_others);
                if own.is_empty() {
                    continue;
                }
                let field = |sequence| {
                    let index = sequence - first_sequence;
                    (format!("messages.{index}.{}", MessageBody::PRODUCED_BY), Bson::Null)
                };
                let nothing: Document = own.iter().map(field).collect();
                let unlink = doc! { "$set": nothing, "$inc": { "edits": 1_i64 } };
                let one = doc! {
                    "_id": segment_id(chat_id, first_sequence),
                    "app_id": scope.app_id.as_str(),
                };
                segments.update_one(one, unlink).session(&mut *tx.session().await?).await?;
                unlinked.extend(own);
            }
        }
        shared.extend(self.versions_of_call(scope, lineage, call_id).await?);
        for sequence in shared {
            if self.unlink_shared(tx, scope, lineage, sequence, call_id).await? {
                unlinked.insert(sequence);
            }
        }
        Ok(unlinked)
    }

    /// Returns the sequences of shared messages of which some version names a call.
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
        let mut filter = versions_by(scope, &editors, 0);
        filter.insert(VERSION_LINK, call_id.as_str());
        let find = self.inner.message_versions.find(filter);
        let found = find.projection(VersionKey::projection()).await?;
        let found: Vec<_> = found.try_collect().await?;
        let sequence = |raw: &RawDocumentBuf| {
            Ok(VersionKey::read(lineage.chat_id(), raw).map(|key| key.sequence)?)
        };
        found.iter().map(sequence).collect()
    }

    /// Unlinks a shared message in this chat alone, if it names the call here.
    ///
    /// What is read here is read outside the transaction: nobody else changes what the chat shows of it,
    /// because whoever does moves the revision, which the transaction has moved already.
    async fn unlink_shared(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        lineage: &Lineage,
        sequence: u64,
        call_id: &CallId,
    ) -> Result<bool, Failure> {
        let found = self.find_sealed(scope, lineage.clone(), sequence).await?;
        let Found { mut stored, place } = found.ok_or_else(|| has_gap(lineage.chat_id()))?;
        let link = stored.message.body.extra.get_mut(MessageBody::PRODUCED_BY);
        let link = link.filter(|link| link.as_str() == Some(call_id.as_str()));
        let (Some(link), Place::Shared(shared)) = (link, place) else { return Ok(false) };
        *link = Value::Null;
        let before = shared.version.as_ref();
        self.write_version(tx, scope, lineage, &stored, before).await?;
        Ok(true)
    }
}

fn with_links(mut projection: Document) -> Document {
    projection.insert(LINK, 1);
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
