use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use persistence::{Outcome, Store};
use records::UserId;
use records::{EventId, InputRequestId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, Path, Query, check_acts_for};
use crate::openapi::values;
use crate::problem::Problem;
use crate::submission::{Submission, Submitted};
use crate::wire;

/// An input of a user.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UserInput, example = json!({"message": "Add a due date"}))]
pub(crate) struct SayRequest {
    #[schema(min_length = 1)]
    message: String,
    /// The input request that it answers; by default the pending one.
    #[schema(value_type = Option<values::Name>)]
    request_id: Option<InputRequestId>,
    /// Makes a retry safe.
    #[schema(value_type = Option<values::Name>)]
    event_id: Option<EventId>,
}

impl Keyed for SayRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("event_id", &mut self.event_id)
    }
}

/// The stored input.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubmittedInput)]
pub(crate) struct SubmitResponse {
    #[schema(example = "accepted")]
    status: &'static str,
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// The input request that the input has answered.
    #[schema(example = "input_0198d4b2")]
    request_id: Option<String>,
    /// The id of the message that the input became.
    #[schema(example = "evt_msg_001")]
    event_id: String,
    #[schema(example = 4)]
    sequence: u64,
    /// Whether the input was stored before.
    duplicate: bool,
}

impl SubmitResponse {
    pub(super) fn from_submitted(
        chat_id: String,
        submitted: Submitted,
    ) -> (StatusCode, Json<Self>) {
        let Submitted { message, request_id } = submitted;
        let response = Self {
            status: "accepted",
            chat_id,
            request_id: request_id.map(Into::into),
            event_id: message.event_id.into(),
            sequence: message.sequence,
            duplicate: message.outcome == Outcome::Duplicate,
        };
        (wire::write_status([message.outcome]), Json(response))
    }
}

/// Stores an input of a user: as the answer to the pending input request, or as a message.
///
/// A question that is bound to a tool call must be answered with the route of the input request.
#[operation(
    answers = "The input is stored",
    repeated = "The input was stored before",
    problems = [FORBIDDEN_OWNER, CHAT_ENDED, INPUT_NOT_FOUND, INPUT_CLOSED, TOOL_CALL_MISMATCH, EVENT_CONFLICT, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn say(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    Path(user_id): Path<UserId>,
    Query(()): Query<()>,
    Json(request): Json<SayRequest>,
) -> Result<(StatusCode, Json<SubmitResponse>), Problem> {
    check_acts_for(
        &scope.caller,
        &user_id,
        "the user_id in the path must be the user of the token",
    )?;
    let SayRequest { message, request_id, event_id } = request;
    let user_id = Some(user_id);
    let submission = Submission { text: message, user_id, request_id, event_id };
    let submitted = submission.submit(&*store, &scope, &chat_id, "/message").await?;
    Ok(SubmitResponse::from_submitted(chat_id.into(), submitted))
}
