use async_trait::async_trait;
use futures::TryStreamExt as _;
use futures::stream::{self, BoxStream, StreamExt as _};
use records::{ChatId, EventId, Message, MessageBody, MessageEdit, NewMessage, Scope};

use crate::StoreError;

/// Stores the messages of chats.
#[async_trait]
pub trait Messages: Send + Sync {
    /// Appends messages in order, all of them or none.
    ///
    /// Each message gets the next sequence of the chat: dense, from 0, never reused, in the order
    /// in which appends take effect. Messages without an `event_id` get one.
    ///
    /// Safe to repeat: for an `event_id` that the chat already holds, the stored sequence is
    /// returned and nothing is stored again. This holds however old the message is, if only a part
    /// of the batch is repeated, and after the chat has ended. With another body it is
    /// [`EventConflict`](StoreError::EventConflict), and nothing of the batch is stored.
    ///
    /// With [`Scope::expected_last_sequence`] new messages are stored only if the chat has that number of messages;
    /// otherwise it is [`SequenceConflict`](StoreError::SequenceConflict). The same holds for edits and deletions.
    ///
    /// Errors: [`ChatEnded`](StoreError::ChatEnded) if there is a new message and the chat is
    /// completed or failed; [`Invalid`](StoreError::Invalid) beyond the
    /// [`Limits`](records::Limits), with a pointer `/messages/{index}/…`.
    async fn append(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
    ) -> Result<Append, StoreError>;

    /// Appends the messages from which a workflow starts, unless the chat already has them.
    ///
    /// A message with an `event_id` is handled as in [`append`](Messages::append). A message
    /// without one is recognised by its role and content, compared as JSON values: the leading
    /// messages that equal the newest ones of the chat are returned as duplicates, and of equal
    /// adjacent messages in the request one is kept. Racing callers with the same messages store
    /// one copy.
    ///
    /// An edited message is compared by its current content; a deleted one is never recognised.
    /// Messages after one that is recognised by its id are compared only with the messages after
    /// that one.
    async fn persist_initial_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
    ) -> Result<Append, StoreError>;

    /// Reads messages, oldest first.
    ///
    /// A page ends early, with `has_more`, when it grows past [`Transcript::PAGE_BYTES`]. Returned
    /// messages can no longer be rolled back.
    async fn messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, StoreError>;

    /// Streams every message that the chat holds when the first one is read, oldest first.
    ///
    /// Messages that are appended later are not included. An edit or deletion during the read
    /// affects at most the messages that are not read yet. The stream buffers a bounded number of
    /// bytes, however long the chat is. Dropping the stream stops the reading. The stream ends
    /// after an error.
    fn history_pages<'a>(&'a self, scope: &'a Scope, chat_id: &'a ChatId) -> HistoryPages<'a>;

    /// Streams the messages of [`history_pages`](Messages::history_pages) one by one.
    fn history<'a>(
        &'a self,
        scope: &'a Scope,
        chat_id: &'a ChatId,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        one_by_one(self.history_pages(scope, chat_id))
    }

    /// Reads those messages of a range that a filter admits, oldest first.
    ///
    /// A page examines at most [`FilteredPage::MESSAGES`] messages or [`FilteredPage::BYTES`] of them, and ends like one of
    /// [`messages`](Messages::messages). It may have few messages, or none, and still a [`next`](FilteredPage::next) page.
    async fn filtered_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
        filter: &MessageFilter,
    ) -> Result<FilteredPage, StoreError>;

    /// Returns one message.
    async fn get_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError>;

    /// Finds messages by their ids: the sequence of each, in the order of the ids; `None` for an id that the chat does not
    /// have.
    ///
    /// A message keeps its sequence for ever, also as a tombstone.
    async fn find_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_ids: &[EventId],
    ) -> Result<Vec<Option<u64>>, StoreError>;

    /// Returns the message with that id, from the tail or a segment.
    async fn get_message_by_id(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_id: &EventId,
    ) -> Result<Option<Message>, StoreError>;

    /// Edits a message in place; its sequence and its id stay.
    ///
    /// A repeated append of the original body still returns this message. A deleted message is
    /// [`MessageNotFound`](StoreError::MessageNotFound). If the caller has seen another state of the message
    /// ([`Scope::if_match`]), it is [`Changed`](StoreError::Changed), here and when it is deleted.
    async fn update_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
        edit: MessageEdit,
    ) -> Result<Message, StoreError>;

    /// Deletes a message, leaving a tombstone: its sequence stays taken, its content is removed.
    ///
    /// Deleting twice returns the first result.
    async fn delete_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError>;

    /// Deletes messages by their ids, each like [`delete_message`](Messages::delete_message).
    ///
    /// Ids that the chat does not have are returned. If the caller may not delete one of the messages, none is deleted.
    /// Otherwise they are deleted, the oldest first: a call that fails may have deleted the first ones. Safe to repeat, with the
    /// same result.
    ///
    /// Errors: [`Invalid`](StoreError::Invalid) beyond [`Limits::DELETED_MESSAGES`](records::Limits::DELETED_MESSAGES) ids.
    async fn delete_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_ids: &[EventId],
    ) -> Result<Deletion, StoreError>;
}

/// The result of a deletion of several messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deletion {
    /// The messages that are deleted now, those that were deleted before included, in the order of the request.
    pub deleted: Vec<DeletedMessage>,
    /// The ids that the chat does not have, in the order of the request.
    pub unknown: Vec<EventId>,
}

/// A message that is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedMessage {
    /// The id of the message.
    pub event_id: EventId,
    /// The sequence of the message.
    pub sequence: u64,
}

/// Selects messages by what they have now; every given field must be the same.
///
/// A tombstone has its role only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageFilter {
    /// The role.
    pub role: Option<String>,
    /// The id of the turn.
    pub request_id: Option<String>,
    /// The block to which the message belongs.
    pub block_id: Option<String>,
    /// The thread to which the message belongs.
    pub thread_id: Option<String>,
    /// The [`type`](MessageBody::TYPE).
    pub kind: Option<String>,
}

impl MessageFilter {
    /// Returns whether the filter admits a message.
    pub fn admits(&self, body: &MessageBody) -> bool {
        let extra = [
            (MessageBody::REQUEST_ID, &self.request_id),
            ("block_id", &self.block_id),
            ("thread_id", &self.thread_id),
            (MessageBody::TYPE, &self.kind),
        ];
        let is_same = |(field, wanted): (&str, &Option<String>)| {
            wanted.is_none() || body.extra_text(field) == wanted.as_deref()
        };
        self.role.as_ref().is_none_or(|role| *role == body.role) && extra.into_iter().all(is_same)
    }
}

/// Messages that a filter admits.
#[derive(Debug, Clone, PartialEq)]
pub struct FilteredPage {
    /// The chat's counter when the messages were read.
    pub last_sequence: u64,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// Where the next page begins, unless the whole range was examined: it is the `after` of
    /// [`MessageRange::Oldest`] or the `before` of [`MessageRange::Newest`].
    pub next: Option<u64>,
}

impl FilteredPage {
    /// The number of messages after which a page ends, admitted or not.
    pub const MESSAGES: usize = 5_000;
    /// The total size of messages, in bytes, after which a page ends, admitted or not.
    pub const BYTES: usize = 16 << 20;
}

/// The result of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The chat's counter after the append: the sequence of the next message.
    pub last_sequence: u64,
    /// One result for each message of the request, in its order.
    pub messages: Vec<Appended>,
}

/// The result for one message of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The id of the message.
    pub event_id: EventId,
    /// The sequence of the message.
    pub sequence: u64,
    /// Whether this call stored the message.
    pub outcome: Outcome,
}

/// Whether this call stored the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// This call stored it.
    Stored,
    /// It was stored before.
    Duplicate,
}

impl Outcome {
    /// Returns the outcome of a call that has found its record, which an earlier attempt of it may have stored.
    pub(crate) fn of_found(is_ours: bool) -> Self {
        if is_ours { Self::Stored } else { Self::Duplicate }
    }
}

/// Selects the messages to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRange {
    /// The oldest `limit` messages with `after < sequence < before`; `None` leaves an end open.
    Oldest {
        /// Only messages after this sequence.
        after: Option<u64>,
        /// Only messages before this sequence.
        before: Option<u64>,
        /// At most this many messages.
        limit: usize,
    },
    /// The newest `limit` messages with `sequence < before`.
    Newest {
        /// Only messages before this sequence.
        before: Option<u64>,
        /// At most this many messages.
        limit: usize,
    },
}

/// A run of consecutive messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// The chat's counter when the messages were read.
    pub last_sequence: u64,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// Whether the range contains more messages: later ones for [`MessageRange::Oldest`], earlier
    /// ones for [`MessageRange::Newest`].
    pub has_more: bool,
}

impl Transcript {
    /// The total size of messages, in bytes, at which a page ends.
    pub const PAGE_BYTES: usize = 4 << 20;
}

impl MessageRange {
    /// Returns the same range without its limit, and the limit.
    pub(crate) fn without_limit(self) -> (Self, usize) {
        let most = usize::MAX;
        match self {
            Self::Oldest { after, before, limit } => {
                (Self::Oldest { after, before, limit: most }, limit)
            }
            Self::Newest { before, limit } => (Self::Newest { before, limit: most }, limit),
        }
    }

    /// Returns the range of all messages; a read returns the first page of it.
    pub fn all() -> Self {
        Self::Oldest { after: None, before: None, limit: usize::MAX }
    }

    /// Returns the sequences `start..end` that the range selects in a chat with this
    /// `last_sequence`, and whether the range contains more.
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

/// Consecutive messages of a chat, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistoryPage {
    /// The messages, at least one.
    pub messages: Vec<Message>,
    /// Their size, in bytes, approximately. A page has about 1 MiB, or more if a single message is larger.
    pub bytes: usize,
}

/// All messages of a chat, oldest first, page by page.
pub type HistoryPages<'a> = BoxStream<'a, Result<HistoryPage, StoreError>>;

/// Streams the messages of pages one by one.
pub fn one_by_one(pages: HistoryPages<'_>) -> BoxStream<'_, Result<Message, StoreError>> {
    let messages = |page: HistoryPage| stream::iter(page.messages).map(Ok);
    pages.map_ok(messages).try_flatten().boxed()
}
