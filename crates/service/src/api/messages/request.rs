use axum::extract::{FromRequest, Request};
use records::json::ListLimit;
use records::{Item, Limits, NewMessage};
use serde::Deserialize;
use utoipa::ToSchema;

use super::body::MessageRequest;
use super::transcript::TranscriptRequest;
use crate::extract::{BatchShape, LimitedLists};
use crate::openapi::any_of;
use crate::operation::{Description, Input};
use crate::problem::Problem;
use crate::state::AppState;
use crate::wire::Stated;

/// Several messages to append atomically.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewMessages)]
pub(crate) struct BatchRequest {
    /// 1 to 1,000 messages of at most 4 MiB each, together at most 8 MiB.
    #[schema(min_items = 1, max_items = 1000)]
    messages: Vec<MessageRequest>,
    /// Append them only if the chat has this `last_sequence`.
    #[serde(default)]
    expected_last_sequence: Option<u64>,
}

/// The list of messages of a body that appends.
pub(crate) const MESSAGES: ListLimit =
    ListLimit { field: "messages", items: Limits::BATCH_MESSAGES };

impl LimitedLists for BatchRequest {
    const LISTS: &'static [ListLimit] = &[MESSAGES];
}

impl From<BatchRequest> for Vec<MessageRequest> {
    /// What the batch expects is kept in its first message.
    fn from(batch: BatchRequest) -> Self {
        let BatchRequest { mut messages, expected_last_sequence } = batch;
        if let (Some(first), Some(_)) = (messages.first_mut(), expected_last_sequence) {
            first.expected_last_sequence = expected_last_sequence;
        }
        messages
    }
}

/// One message, or several in `messages`.
pub(crate) enum OneOrSeveral {}

// A message may have other fields, too.
any_of!(OneOrSeveral, "OneOrSeveralNewMessages", [MessageRequest, BatchRequest]);

/// One message, several, or a transcript in a dialect.
pub(crate) enum AppendRequest {}

// The query selects one.
any_of!(AppendRequest, "Append", [MessageRequest, BatchRequest, TranscriptRequest]);

/// The messages of a body.
#[derive(Debug)]
pub(crate) struct MessagesBody {
    messages: Vec<MessageRequest>,
    shape: BatchShape,
}

impl FromRequest<AppState> for MessagesBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (shape, messages) =
            BatchShape::read::<MessageRequest, BatchRequest>(request, state).await?;
        Ok(Self { messages, shape })
    }
}

impl Input for MessagesBody {
    fn describe(description: &mut Description) {
        description.json_body::<OneOrSeveral>();
    }
}

impl MessagesBody {
    pub(super) fn shape(&self) -> BatchShape {
        self.shape
    }

    /// Takes what the body expects; the query may expect the same.
    pub(super) fn expected_last_sequence(
        &mut self,
        of_query: Option<u64>,
    ) -> Result<Option<u64>, Problem> {
        let of_body = self.messages.first_mut().and_then(|it| it.expected_last_sequence.take());
        match (of_query, of_body) {
            (Some(of_query), Some(of_body)) if of_query != of_body => {
                let detail = "must be the same as in the query";
                Err(Problem::invalid_body("/expected_last_sequence", detail))
            }
            _ => Ok(of_body.or(of_query)),
        }
    }

    /// Returns what the messages say of themselves that is not stored as they say it.
    pub(super) fn stated(&self) -> Vec<Stated> {
        self.messages.iter().map(MessageRequest::stated).collect()
    }

    /// Converts the messages; one without a role gets `default_role`.
    pub(super) fn into_messages(
        self,
        default_role: Option<&str>,
    ) -> Result<Vec<NewMessage>, Problem> {
        let numbered = self.messages.into_iter().enumerate();
        numbered
            .map(|(index, message)| {
                let converted = message.into_message(default_role);
                converted.map_err(|e| self.shape.problem(e.below(Item::Message(index))))
            })
            .collect()
    }
}
