//! Pushes many messages straight into a segment, so that they are written only once (decision 0010).
//!
//! There are two writes. The first inserts a segment in the place of the next one, with the messages of
//! the tail followed by the new ones; no reader uses it yet. The second moves the counters past it, if
//! the chat is still in the state that the segment was made for. If another append comes in between,
//! the segment is left behind and never used: the next sealing replaces it.

use std::collections::HashSet;

use bson::raw::{RawArrayBuf, cstr};
use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc, rawdoc};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{SegmentHead, Tail, counter, open_chat_session, segment_document};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::transcript::append::push::{Condition, Push, Pushed};

/// From this number of messages on, a segment of their own costs less than the way through the tail.
const LARGE: usize = 32;

/// The tail before a push, whose messages are sealed together with those of the push.
pub(crate) struct PriorTail {
    pub(crate) tail: Tail,
    pub(crate) messages: Vec<RawDocumentBuf>,
}

impl MongoStore {
    /// Pushes many messages into a segment; `None` if they have to go through the tail.
    pub(crate) async fn push_sealed(&self, push: &Push<'_>) -> Result<Option<Pushed>, Failure> {
        let bounds = self.inner.sealer.bounds();
        if push.documents.len() < LARGE || !bounds.is_automatic {
            return Ok(None);
        }
        let Some(before) = self.before(push).await? else { return Ok(None) };
        let fits = before.tail.bytes + push.bytes <= bounds.segment_bytes.min(bounds.hard_bytes);
        if !fits || !self.insert_appended(push, &before).await? {
            return Ok(None);
        }
        let after = before.after(push);
        let filter = before.condition(self.appendable(push));
        let update = before.update(&after, push);
        let trace = push.trace(&before.tail, false);
        let outcome = self.update_session(&filter, &update, trace).await?;
        Ok(match self.pushed(push, outcome, &before.tail, after) {
            Pushed::NotMatched => None,
            pushed => {
                if matches!(pushed, Pushed::Stored(_)) {
                    self.inner.metrics.appends.sealed();
                }
                Some(pushed)
            }
        })
    }

    /// Returns the tail before a push, if it is empty or would have to be sealed after the push.
    async fn before(&self, push: &Push<'_>) -> Result<Option<PriorTail>, Failure> {
        let expected = self.expected_tail(push);
        if let Some(tail) = expected.filter(|tail| tail.len() == 0) {
            return Ok(Some(PriorTail { tail, messages: Vec::new() }));
        }
        let (len, bytes) = expected.map_or((0, 0), |tail| (tail.len(), tail.bytes));
        let (len, bytes) = (len + push.documents.len() as u64, bytes + push.bytes);
        if self.inner.sealer.bounds().admit(len, bytes) {
            return Ok(None);
        }
        let raw = self.session_within(push.scope, push.chat_id, Tail::with_messages()).await?;
        Ok(PriorTail::read(&raw, push)?)
    }

    /// Inserts a segment of the tail and the push; returns whether its place was free.
    async fn insert_appended(&self, push: &Push<'_>, before: &PriorTail) -> Result<bool, Failure> {
        let head = SegmentHead {
            first_sequence: before.tail.first_sequence,
            revision: before.tail.revision,
            edits: 0,
            append_base: Some(before.tail.last_sequence),
        };
        let messages = before.messages.iter().chain(&push.documents);
        let segment = segment_document(&push.scope.app_id, push.chat_id, &head, messages);
        match self.inner.chat_segments.insert_one(segment).await {
            Ok(_) => Ok(true),
            Err(error) if is_duplicate_key(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl PriorTail {
    /// Reads the tail; `None` if the condition of the push does not hold for it.
    pub(crate) fn read(raw: &RawDocument, push: &Push<'_>) -> Result<Option<Self>, StoreError> {
        let fields = open_chat_session(raw)?;
        let tail = Tail::read(&fields)?;
        let new: HashSet<&str> = push.event_ids.iter().copied().collect();
        let mut messages = Vec::new();
        let mut has_one_of_the_ids = false;
        for message in fields.documents("messages")? {
            let message = message?;
            has_one_of_the_ids |= new.contains(message.field("event_id")?.text()?);
            messages.push(message.raw().to_owned());
        }
        let may_follow = match push.condition {
            Condition::NewIds { first_sequence: limit }
            | Condition::NoneOfTheIds { sealed_below: limit } => {
                tail.first_sequence <= limit && !has_one_of_the_ids
            }
            Condition::NothingAppended { last_sequence } => tail.last_sequence == last_sequence,
        };
        Ok(may_follow.then_some(Self { tail, messages }))
    }

    /// Returns the tail after the push, which is empty.
    pub(crate) fn after(&self, push: &Push<'_>) -> Tail {
        let last_sequence = self.tail.last_sequence + push.documents.len() as u64;
        let turns = self.tail.turns + u64::from(push.turn.is_some());
        Tail { first_sequence: last_sequence, last_sequence, bytes: 0, turns, ..self.tail }
    }

    /// Narrows a filter to the state that the segment was made for.
    pub(crate) fn condition(&self, mut filter: Document) -> Document {
        // A turn gets its number from the tail that is returned, which must be right. A missing field is 0.
        let turns = counter(self.tail.turns);
        let turns = if turns == 0 { vec![Bson::Int64(0), Bson::Null] } else { vec![turns.into()] };
        filter.insert("turns", doc! { "$in": turns });
        filter.insert("first_sequence", counter(self.tail.first_sequence));
        filter.insert("last_sequence", counter(self.tail.last_sequence));
        if !self.messages.is_empty() {
            // An edit may have changed a message after it was copied.
            filter.insert("revision", self.tail.revision);
        }
        filter
    }

    pub(crate) fn update(&self, after: &Tail, push: &Push<'_>) -> RawDocumentBuf {
        let mut set = RawDocumentBuf::new();
        set.append(cstr!("first_sequence"), counter(after.first_sequence));
        set.append(cstr!("last_sequence"), counter(after.last_sequence));
        if !self.messages.is_empty() {
            set.append(cstr!("messages"), RawArrayBuf::new());
            set.append(cstr!("tail_bytes"), 0_i64);
        }
        let mut update = push.update_setting(set);
        if let Some(turn) = &push.turn {
            update.append(cstr!("$inc"), rawdoc! { "turns": 1_i64 });
            update.append(cstr!("$push"), rawdoc! { "recent_turns": turn.recent() });
        }
        update
    }
}
