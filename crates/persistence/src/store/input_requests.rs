use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{ChatId, InputRequest, InputRequestId, NewInputAnswer, NewInputRequest, Scope};

use super::{Append, Outcome};
use crate::StoreError;

/// Keeps the questions that workflows ask, and sees to it that each is answered once.
///
/// A chat with a pending request is paused for [`InputRequest::PAUSE_REASON`], unless it was paused for
/// another reason before or somebody lets it run on; with the last one closed it runs on by itself.
/// Closing is for good. A request past its expiry is overdue: every answer shows it as expired, and it
/// takes no answer, whether or not [`expire_input_requests`](Self::expire_input_requests) has come by.
#[async_trait]
pub trait InputRequests: Send + Sync {
    /// Asks a question.
    ///
    /// A `request_id` that was used before is answered with the request of then, as it stands; with
    /// another question it is [`InputConflict`](StoreError::InputConflict). An ended chat asks nothing:
    /// [`ChatEnded`](StoreError::ChatEnded). Beyond [`InputRequest::MAX_PENDING`] it is
    /// [`TooManyInputs`](StoreError::TooManyInputs).
    async fn request_input(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        new: NewInputRequest,
    ) -> Result<RequestedInput, StoreError>;

    /// Returns a request; one that is not there is [`InputNotFound`](StoreError::InputNotFound).
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

    /// Finds the requests of that id in all chats within the scope: those that are pending, or, where none
    /// is, all; at most [`MAX_FOUND`](InputPage::MAX_FOUND) of them. Ids are unique only within a chat.
    async fn find_input_requests(
        &self,
        scope: &Scope,
        request_id: &InputRequestId,
    ) -> Result<Vec<InputRequest>, StoreError>;

    /// Answers a request: the answer becomes a message of the chat, and the request is closed, both or
    /// neither.
    ///
    /// Of those who answer at the same time one wins; the others, and whoever comes later, get
    /// [`InputClosed`](StoreError::InputClosed) with the request as it stands, answer and all. The
    /// same answer again, by its `event_id`, is answered as the first time. A question that is bound to a
    /// call of a tool takes only an answer for that call:
    /// [`ToolCallMismatch`](StoreError::ToolCallMismatch).
    async fn answer_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        answer: NewInputAnswer,
    ) -> Result<AnsweredInput, StoreError>;

    /// Takes a question back. One that was is answered as it stands; one that was closed otherwise is
    /// [`InputClosed`](StoreError::InputClosed).
    async fn cancel_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        reason: Option<&str>,
    ) -> Result<InputRequest, StoreError>;

    /// Closes requests of all apps that are overdue, those that have been for longest first, at most
    /// `limit` of them; returns how many. For the process itself.
    async fn expire_input_requests(&self, limit: usize) -> Result<usize, StoreError>;
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedInput {
    /// The request as it stands.
    pub request: InputRequest,
    /// Whether this asked it.
    pub outcome: Outcome,
}

/// What came of answering.
#[derive(Debug, Clone, PartialEq)]
pub struct AnsweredInput {
    /// The request, answered.
    pub request: InputRequest,
    /// The message that the answer has become.
    pub append: Append,
}

/// A position in a list of requests: right after the one it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputCursor {
    /// When that request was made.
    pub created_at: DateTime<Utc>,
    /// Its id.
    pub request_id: InputRequestId,
}

/// A page of requests.
#[derive(Debug, Clone, PartialEq)]
pub struct InputPage {
    /// The requests.
    pub requests: Vec<InputRequest>,
    /// Where the next page begins, when there is one.
    pub next: Option<InputCursor>,
}

impl InputPage {
    /// How many requests of one id are found.
    pub const MAX_FOUND: usize = 8;

    /// Makes a page of the first `limit` of the requests given.
    pub(crate) fn cut(mut requests: Vec<InputRequest>, limit: usize) -> Self {
        let last = super::cut(&mut requests, limit);
        let cursor = |request: &InputRequest| InputCursor {
            created_at: request.created_at,
            request_id: request.request_id.clone(),
        };
        Self { next: last.map(cursor), requests }
    }
}
