//! Where an edit is written: into the tail, into a segment, or into an overlay.

use bson::{DateTime, Document, doc};
use chrono::Utc;
use mongodb::options::ReturnDocument;
use records::{ChatId, Scope};

use super::{Shared, decode_document, editable_chat, segment_filter};
use crate::mongo::MongoStore;
use crate::mongo::collections::EDITED_AT;
use crate::mongo::documents::{
    Lineage, Segment, SegmentHead, StoredMessage, Tail, counter, open_chat_session,
    segment_document,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::marks::with_mark;
use crate::mongo::engine::transaction::Transaction;
use crate::mongo::transcript::reader::gap_error;
use crate::store::ChatHead;

/// The size, in bytes, above which a segment that grows by an edit is split.
const SPLIT_BYTES: u64 = 1 << 20;

/// The new content of messages that are stored in one place.
pub(super) struct Change {
    /// At least one message, in order.
    pub(super) stored: Vec<StoredMessage>,
    /// How many bytes they have now in addition to those that they had.
    growth: i64,
    at: chrono::DateTime<Utc>,
    /// The id of the call that edits them, by which a retry recognises its own write.
    write_id: String,
}

impl Change {
    pub(super) fn new(at: chrono::DateTime<Utc>, write_id: &str) -> Self {
        Self { stored: Vec::new(), growth: 0, at, write_id: write_id.to_owned() }
    }

    pub(super) fn push(&mut self, old: &StoredMessage, new: StoredMessage) {
        self.growth += counter(new.bytes) - counter(old.bytes);
        self.stored.push(new);
    }

    fn count(&self) -> i64 {
        counter(self.stored.len() as u64)
    }

    fn times(&self) -> Document {
        let at = DateTime::from_chrono(self.at);
        doc! { "last_updated_at": at, EDITED_AT: at }
    }

    fn sequences(&self) -> impl Iterator<Item = u64> {
        self.stored.iter().map(|stored| stored.message.sequence)
    }

    /// Returns what an update sets in an array of messages. `first_sequence` is that of the first message of the array.
    fn fields(&self, first_sequence: u64) -> Result<Document, Failure> {
        let field = |stored: &StoredMessage| {
            let index = stored.message.sequence - first_sequence;
            Ok((format!("messages.{index}"), decode_document(&stored.document())?.into()))
        };
        self.stored.iter().map(field).collect()
    }
}

impl MongoStore {
    /// Writes messages to the tail. Returns `None` if the tail has changed since it was read, or was sealed first because it is
    /// too large.
    pub(super) async fn write_in_tail(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        tail: &Tail,
        change: &Change,
    ) -> Result<Option<()>, Failure> {
        if tail.bytes > self.inner.sealer.bounds().hard_bytes {
            self.seal_within(&scope.app_id, chat_id).await?;
            return Ok(None);
        }
        let mut filter = editable_chat(scope, chat_id);
        filter.insert("first_sequence", counter(tail.first_sequence));
        filter.insert("revision", tail.revision);
        let mut set = change.times();
        set.extend(change.fields(tail.first_sequence)?);
        let mut update = doc! {
            "$set": set,
            "$inc": { "revision": change.count(), "tail_bytes": change.growth },
            "$push": push_recent_edits(change.sequences()),
        };
        with_mark(&change.write_id, &mut filter, &mut update);
        let sessions = &self.inner.chat_sessions;
        let updating = sessions.find_one_and_update(filter, update).projection(Tail::projection());
        let updating = updating.return_document(ReturnDocument::After);
        let updated = if tx.has_begun() {
            updating.session(&mut *tx.session().await?).await?
        } else {
            updating.await?
        };
        let Some(updated) = updated else { return Ok(None) };
        let tail = Tail::read(&open_chat_session(&updated)?)?;
        self.seal_soon(&scope.app_id, chat_id, &tail);
        Ok(Some(()))
    }

    /// Writes messages to their segment, and records the edits in the session. Returns `None` if either has changed since it was
    /// read.
    pub(super) async fn write_in_segment(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        lineage: &Lineage,
        mut segment: Segment,
        change: &Change,
    ) -> Result<Option<()>, Failure> {
        let chat_id = lineage.chat_id();
        let head = segment.head;
        let mut changed = 0;
        for stored in &change.stored {
            let index = usize::try_from(stored.message.sequence - head.first_sequence);
            changed = index.map_err(|_| gap_error(chat_id))?;
            segment.messages[changed] = stored.clone();
        }
        let mut filter = editable_chat(scope, chat_id);
        // A fork may begin to share the segment at the same time.
        lineage.condition(&mut filter);
        if !self.record_edits(tx, filter, change).await? {
            return Ok(None);
        }
        // Only an edit makes a message larger, and that is one of a single message.
        let is_single = change.stored.len() == 1;
        if is_single && segment.bytes() > SPLIT_BYTES && segment.messages.len() > 1 {
            return self.split_within(tx, scope, chat_id, segment, changed).await;
        }
        let filter = segment_filter(&scope.app_id, chat_id, &head);
        let update =
            doc! { "$set": change.fields(head.first_sequence)?, "$inc": { "edits": 1_i64 } };
        let updating = self.inner.chat_segments.update_one(filter, update);
        let updated = updating.session(&mut *tx.session().await?).await?;
        Ok((updated.matched_count == 1).then_some(()))
    }

    /// Writes the overlay of a shared message; its segment does not change. Returns `None` if the chat has changed since it was
    /// read.
    pub(super) async fn write_overlay(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        shared: &Shared,
        change: &Change,
    ) -> Result<Option<()>, Failure> {
        let Shared { lineage, version } = shared;
        // A shared message is found alone, because each has an overlay of its own.
        let [stored] = change.stored.as_slice() else {
            return Err(gap_error(lineage.chat_id()));
        };
        let mut filter = editable_chat(scope, lineage.chat_id());
        lineage.condition(&mut filter);
        filter.insert("revision", lineage.next_revision() - 1);
        if !self.record_edits(tx, filter, change).await? {
            return Ok(None);
        }
        self.write_version(tx, scope, lineage, stored, version.as_ref()).await.map(Some)
    }

    /// Records the edits of sealed messages in the session. Returns whether the session matched the filter.
    ///
    /// This is the first write of a transaction, so that concurrent appends wait for the transaction, and not
    /// the reverse.
    async fn record_edits(
        &self,
        tx: &Transaction<'_>,
        mut filter: Document,
        change: &Change,
    ) -> Result<bool, Failure> {
        let mut update = doc! {
            "$set": change.times(),
            "$inc": { "revision": change.count() },
            "$push": push_recent_edits(change.sequences()),
        };
        with_mark(&change.write_id, &mut filter, &mut update);
        let touching = self.inner.chat_sessions.update_one(filter, update);
        Ok(touching.session(&mut *tx.session().await?).await?.matched_count == 1)
    }

    /// Splits a segment that an edit has made too large into three: the messages before the edited one, the
    /// edited message, and the messages after it. Returns `None` if another edit has changed the segment.
    async fn split_within(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        segment: Segment,
        index: usize,
    ) -> Result<Option<()>, Failure> {
        let Segment { head, mut messages } = segment;
        let after = messages.split_off(index + 1);
        let message = messages.split_off(index);
        let parts = [messages, message, after].into_iter().filter(|part| !part.is_empty());
        let pieces = parts.map(|messages| {
            let first_sequence = messages[0].message.sequence;
            let head = SegmentHead { first_sequence, edits: head.edits + 1, ..head };
            let messages = messages.iter().map(StoredMessage::document);
            segment_document(&scope.app_id, chat_id, &head, messages)
        });
        let pieces: Vec<_> = pieces.collect();
        let segments = &self.inner.chat_segments;
        let whole = segment_filter(&scope.app_id, chat_id, &head);
        let delete = segments.delete_one(whole).session(&mut *tx.session().await?).await?;
        if delete.deleted_count == 0 {
            return Ok(None);
        }
        segments.insert_many(pieces).session(&mut *tx.session().await?).await?;
        Ok(Some(()))
    }
}

/// Returns the `$push` that adds messages to `recent_edits`. Every increment of the revision needs one entry.
pub(crate) fn push_recent_edits(sequences: impl IntoIterator<Item = u64>) -> Document {
    let sequences: Vec<_> = sequences.into_iter().map(counter).collect();
    let last = -i64::try_from(ChatHead::RECENT_EDITS).unwrap_or(i64::MAX);
    doc! { "recent_edits": { "$each": sequences, "$slice": last } }
}
