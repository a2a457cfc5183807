use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{ChatId, InputRequest, InputRequestId, NewInputAnswer, NewInputRequest, Scope};

use super::{Append, Outcome};
use crate::StoreError;

/// Stores the questions of workflows, and ensures that each is answered at most once.
///
/// A chat with a pending request is paused for [`InputRequest::PAUSE_REASON`], unless it was
/// already paused for another reason or a client sets it to running. When the last request is
/// closed, a chat that is paused for this reason runs again. A closed request stays closed. A
/// request past its expiry is overdue: every read returns it as expired, and it accepts no answer,
/// even before [`expire_input_requests`](Self::expire_input_requests) closes it.
#[async_trait]
pub trait InputRequests: Send + Sync {
    /// Creates a question.
    ///
    /// Safe to repeat: a repeated `request_id` returns the stored request in its current state;
    /// with another question it is [`InputConflict`](StoreError::InputConflict). An ended chat is
    /// [`ChatEnded`](StoreError::ChatEnded). A chat with [`InputRequest::MAX_PENDING`] pending
    /// requests is [`TooManyInputs`](StoreError::TooManyInputs).
    async fn request_input(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        new: NewInputRequest,
    ) -> Result<RequestedInput, StoreError>;

    /// Returns a request, or [`InputNotFound`](StoreError::InputNotFound) if there is none.
    async fn get_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
    ) -> Result<InputRequest, StoreError>;

    /// Lists the requests of a chat, newest first by creation and then by id.
    async fn list_input_requests(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&InputCursor>,
    ) -> Result<InputPage, StoreError>;

    /// Finds the requests with this id in all chats within the scope: the pending ones, or all if
    /// none is pending; at most [`MAX_FOUND`](InputPage::MAX_FOUND). Ids are unique only within a
    /// chat.
    async fn find_input_requests(
        &self,
        scope: &Scope,
        request_id: &InputRequestId,
    ) -> Result<Vec<InputRequest>, StoreError>;

    /// Lists the pending requests of all chats that the caller lists, in the order of their creation.
    ///
    /// A person's list covers the [`MAX_CHATS`](PendingInputs::MAX_CHATS) last active chats of each relation to them: owner,
    /// member, team. The caller's rights in the chats are those at the time of the call, so requests of deleted chats are
    /// left out. `limit` must be at least 1. A page may hold fewer requests than that, because a call examines at most
    /// [`MAX_EXAMINED`](PendingInputs::MAX_EXAMINED); only `next` says whether there are more.
    async fn list_pending_inputs(
        &self,
        scope: &Scope,
        order: PendingOrder,
        limit: usize,
        after: Option<&PendingCursor>,
    ) -> Result<PendingInputs, StoreError>;

    /// Answers a request: the answer becomes a message of the chat and the request is closed, both
    /// or neither.
    ///
    /// One of several concurrent answers wins. The others, and all later ones, get
    /// [`InputClosed`](StoreError::InputClosed) with the current request, including its answer. A
    /// repeat of the winning answer, recognised by its `event_id`, gets the first result. A
    /// question that is bound to a tool call accepts only an answer for that call; any other is
    /// [`ToolCallMismatch`](StoreError::ToolCallMismatch).
    async fn answer_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        answer: NewInputAnswer,
    ) -> Result<AnsweredInput, StoreError>;

    /// Cancels a question. A cancelled request is returned unchanged. A request that was closed
    /// otherwise is [`InputClosed`](StoreError::InputClosed).
    async fn cancel_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        reason: Option<&str>,
    ) -> Result<InputRequest, StoreError>;

    /// Closes overdue requests of all apps, the longest overdue first, at most `limit`, and returns how
    /// many it closed. For the process itself; takes no scope.
    async fn expire_input_requests(&self, limit: usize) -> Result<usize, StoreError>;
}

/// The result of creating a request.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedInput {
    /// The current request.
    pub request: InputRequest,
    /// Whether this call created it.
    pub outcome: Outcome,
}

/// The result of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnsweredInput {
    /// The answered request.
    pub request: InputRequest,
    /// The message of the answer.
    pub append: Append,
}

/// A position in a list of requests: right after this request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputCursor {
    /// When the request was created.
    pub created_at: DateTime<Utc>,
    /// The id of the request.
    pub request_id: InputRequestId,
}

/// A page of requests.
#[derive(Debug, Clone, PartialEq)]
pub struct InputPage {
    /// The requests.
    pub requests: Vec<InputRequest>,
    /// The position of the next page, if there is a next page.
    pub next: Option<InputCursor>,
}

impl InputPage {
    /// How many requests with one id are returned at most.
    pub const MAX_FOUND: usize = 8;

    /// Makes a page of the first `limit` requests.
    pub(crate) fn cut(mut requests: Vec<InputRequest>, limit: usize) -> Self {
        let last = super::cut(&mut requests, limit);
        let cursor = |request: &InputRequest| InputCursor {
            created_at: request.created_at,
            request_id: request.request_id.clone(),
        };
        Self { next: last.map(cursor), requests }
    }
}

/// The order of a list of pending requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PendingOrder {
    /// The newest request first.
    #[default]
    Newest,
    /// The oldest request first.
    Oldest,
}

/// A position in a list of pending requests: right after this request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PendingCursor {
    /// When the request was created.
    pub created_at: DateTime<Utc>,
    /// The chat of the request.
    pub chat_id: ChatId,
    /// The id of the request.
    pub request_id: InputRequestId,
}

impl PendingCursor {
    /// Returns the position of a request.
    pub(crate) fn at(request: &InputRequest) -> Self {
        let InputRequest { chat_id, request_id, created_at, .. } = request.clone();
        Self { created_at, chat_id, request_id }
    }
}

/// A page of pending requests.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingInputs {
    /// The requests.
    pub requests: Vec<InputRequest>,
    /// The position of the next page, if there may be more requests.
    pub next: Option<PendingCursor>,
}

impl PendingInputs {
    /// How many chats of each relation to a person are covered.
    pub const MAX_CHATS: usize = 1_000;

    /// How many requests a call examines at most.
    pub const MAX_EXAMINED: usize = 1_000;
}
