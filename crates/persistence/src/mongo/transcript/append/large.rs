//! Pushes more messages than one update can hold, into segments of their own.
//!
//! This takes a transaction, unlike [`super::sealed`], which inserts a single segment. Several segments
//! that were left behind would be in the way of the next such push, and it could not be told which of
//! them may be replaced.

use bson::{Document, RawDocumentBuf};

use crate::mongo::MongoStore;
use crate::mongo::documents::{SegmentHead, Tail, segment_document, segments_filter};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::transaction::Transaction;
use crate::mongo::transcript::append::push::Push;
use crate::mongo::transcript::append::sealed::PriorTail;

impl MongoStore {
    /// Pushes any number of messages within a transaction; `None` if the condition does not hold.
    pub(crate) async fn push_segments_within(
        &self,
        push: &Push<'_>,
        tx: &Transaction<'_>,
    ) -> Result<Option<Tail>, Failure> {
        let raw = self.session_within(push.scope, push.chat_id, Tail::with_messages()).await?;
        let Some(before) = PriorTail::read(&raw, push)? else { return Ok(None) };
        let after = before.after(push);
        let filter = before.condition(self.appendable(push));
        // The session is updated first, which locks it: concurrent appends wait for this transaction.
        // Otherwise any of them could make it fail.
        let update = Document::try_from(&*before.update(&after, push));
        let update = update.map_err(mongodb::error::Error::from)?;
        let moving = self.inner.chat_sessions.update_one(filter, update);
        let moved = moving.session(&mut *tx.session().await?).await?;
        if moved.matched_count == 0 {
            return Ok(None);
        }
        let segments = &self.inner.chat_segments;
        // A push that left one of these behind will find the counters changed, and never use it.
        let left_behind =
            segments_filter(&push.scope.app_id, push.chat_id, before.tail.first_sequence..u64::MAX);
        segments.delete_many(left_behind).session(&mut *tx.session().await?).await?;
        let insert = segments.insert_many(self.segments(push, &before));
        insert.session(&mut *tx.session().await?).await?;
        Ok(Some(after))
    }

    /// Returns segments of the usual size, with the messages of the tail and of the push.
    fn segments(&self, push: &Push<'_>, before: &PriorTail) -> Vec<RawDocumentBuf> {
        let bound = self.inner.sealer.bounds().segment_bytes;
        let mut messages = before.messages.iter().chain(&push.documents).peekable();
        let mut segments = Vec::new();
        let mut first_sequence = before.tail.first_sequence;
        while messages.peek().is_some() {
            let mut taken = Vec::new();
            let mut bytes = 0;
            while let Some(message) = messages.next_if(|message| {
                taken.is_empty() || bytes + message.as_bytes().len() as u64 <= bound
            }) {
                bytes += message.as_bytes().len() as u64;
                taken.push(message);
            }
            let revision = before.tail.revision;
            let head = SegmentHead { first_sequence, revision, edits: 0, append_base: None };
            first_sequence += taken.len() as u64;
            segments.push(segment_document(&push.scope.app_id, push.chat_id, &head, taken));
        }
        segments
    }
}
