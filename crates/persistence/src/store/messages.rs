use async_trait::async_trait;
use futures::stream::BoxStream;
use records::{ChatId, EventId, Message, MessageEdit, NewMessage, Scope};

use crate::StoreError;

/// Keeps the messages of chats.
#[async_trait]
pub trait Messages: Send + Sync {
    /// Appends messages in order, all of them or none.
    ///
    /// Each gets the next sequence of the chat: dense, from 0, never reused, in the order in which
    /// appends take effect. Messages without an `event_id` get one.
    ///
    /// Safe to repeat: an `event_id` the chat already holds is answered with the sequence it had,
    /// however long ago that was, and is not stored again, also when only a part of the batch
    /// repeats and also after the chat has ended. With another body it is
    /// [`EventConflict`](StoreError::EventConflict), and nothing of the batch is stored.
    ///
    /// Errors: [`ChatEnded`](StoreError::ChatEnded) when there is something new to store and the
    /// chat is completed or failed; [`Invalid`](StoreError::Invalid) beyond the
    /// [`Limits`](records::Limits), with a pointer `/messages/{index}/…`.
    async fn append(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
    ) -> Result<Append, StoreError>;

    /// Appends the messages a workflow starts from, unless they are there already.
    ///
    /// A message with an `event_id` is taken as [`append`](Messages::append) takes it. One without
    /// is recognised by role and content, structure compared as structure: the leading messages
    /// that equal the newest ones of the chat are answered with those, and of equal neighbours
    /// within the call one is kept. Callers that race with the same messages store one copy.
    ///
    /// An edited message counts by what it says now, a deleted one not at all; and what follows a
    /// message known by its id is looked for only after that one.
    async fn persist_initial_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
    ) -> Result<Append, StoreError>;

    /// Reads messages, oldest first.
    ///
    /// A page ends early, with `has_more`, when it grows past
    /// [`Transcript::PAGE_BYTES`]. What is returned can no
    /// longer be lost.
    async fn messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, StoreError>;

    /// Streams every message the chat holds when the first is read, oldest first.
    ///
    /// What is appended later is not among them. An edit or a deletion made while the stream is
    /// read shows in what has not been read yet, or not at all. The stream holds a bounded number
    /// of bytes, however long the chat is; whoever drops it early ends the reading. After an error
    /// it ends.
    fn history<'a>(
        &'a self,
        scope: &'a Scope,
        chat_id: &'a ChatId,
    ) -> BoxStream<'a, Result<Message, StoreError>>;

    /// Returns one message.
    async fn get_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError>;

    /// Returns the message of that id, wherever in the chat it lies.
    async fn get_message_by_id(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_id: &EventId,
    ) -> Result<Option<Message>, StoreError>;

    /// Changes a message in place; its sequence and its id stay.
    ///
    /// Repeating an append of the original body still answers with this message. A deleted message
    /// is [`MessageNotFound`](StoreError::MessageNotFound).
    async fn update_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
        edit: MessageEdit,
    ) -> Result<Message, StoreError>;

    /// Deletes a message, leaving a tombstone: its sequence stays taken, its content is gone.
    ///
    /// Deleting twice answers as the first time.
    async fn delete_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError>;
}

/// What came of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The chat's counter after it: the sequence the next message gets.
    pub last_sequence: u64,
    /// One for each message given, in their order.
    pub messages: Vec<Appended>,
}

/// What came of one message of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The id it has.
    pub event_id: EventId,
    /// The sequence it has.
    pub sequence: u64,
    /// Whether it was stored now, or had been before.
    pub outcome: Outcome,
}

/// Whether a message was stored by this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was stored now.
    Stored,
    /// The chat had it already.
    Duplicate,
}

/// Which messages to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRange {
    /// The oldest `limit` of those with `after < sequence < before`; an end left open is `None`.
    Oldest {
        /// Only later ones than this.
        after: Option<u64>,
        /// Only earlier ones than this.
        before: Option<u64>,
        /// At most this many.
        limit: usize,
    },
    /// The newest `limit` of those with `sequence < before`.
    Newest {
        /// Only earlier ones than this.
        before: Option<u64>,
        /// At most this many.
        limit: usize,
    },
}

/// A run of consecutive messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// The chat's counter when it was read.
    pub last_sequence: u64,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// Whether the range holds more: later ones for [`MessageRange::Oldest`], earlier ones for
    /// [`MessageRange::Newest`].
    pub has_more: bool,
}

impl Transcript {
    /// The size of messages, in bytes, at which a page ends.
    pub const PAGE_BYTES: usize = 16 << 20;
}

impl MessageRange {
    /// Returns everything from the beginning, as far as one page goes.
    pub fn all() -> Self {
        Self::Oldest { after: None, before: None, limit: usize::MAX }
    }

    /// Returns the sequences `start..end` the range selects in a chat whose counter is
    /// `last_sequence`, and whether more lie beyond.
    pub fn resolve(self, last_sequence: u64) -> (std::ops::Range<u64>, bool) {
        let take = |limit: usize| u64::try_from(limit).unwrap_or(u64::MAX);
        match self {
            Self::Oldest { after, before, limit } => {
                let start = after.map_or(0, |after| after.saturating_add(1));
                let bound = before.unwrap_or(u64::MAX).min(last_sequence);
                let end = start.saturating_add(take(limit)).min(bound).max(start);
                (start..end, end < bound)
            }
            Self::Newest { before, limit } => {
                let end = before.unwrap_or(u64::MAX).min(last_sequence);
                let start = end.saturating_sub(take(limit));
                (start..end, start > 0)
            }
        }
    }
}
