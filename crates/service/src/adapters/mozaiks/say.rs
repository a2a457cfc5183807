use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{EventId, InputRequestId, UserId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::session::OWN;
use crate::adapters::ForeignQuery;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, Path, check_acts_for};
use crate::openapi::values;
use crate::problem::Problem;
use crate::submission::Submission;
use crate::unset_values::unless_empty;

/// What a user says to a workflow; other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SayToWorkflow, example = json!({"message": "Add a due date"}))]
pub(crate) struct SayRequest {
    #[schema(min_length = 1)]
    message: String,
    /// The question that it answers; by default the pending one.
    #[serde(default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::Name>)]
    request_id: Option<InputRequestId>,
    /// Makes a retry safe.
    #[serde(default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::Name>)]
    event_id: Option<EventId>,
}

impl Keyed for SayRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("event_id", &mut self.event_id)
    }
}

/// The input is stored.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SaidToWorkflow)]
pub(crate) struct SayResponse {
    /// Always `Message received`: it is stored, and the workflow runs elsewhere.
    #[schema(example = "Message received")]
    status: &'static str,
    #[schema(example = "chat_abc123")]
    chat_id: String,
    #[schema(example = 4)]
    sequence: u64,
}

/// Stores an input of a user: as the answer to the pending question, or as a message.
#[operation(
    answers = "The input is stored",
    problems = [FORBIDDEN_OWNER, CHAT_ENDED, INPUT_NOT_FOUND, INPUT_CLOSED, TOOL_CALL_MISMATCH, EVENT_CONFLICT, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn say_to_workflow(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say>,
    Path(user_id): Path<UserId>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(request): Json<SayRequest>,
) -> Result<Json<SayResponse>, Problem> {
    check_acts_for(&scope.caller, &user_id, OWN)?;
    let SayRequest { message, request_id, event_id } = request;
    let submission = Submission { text: message, user_id: Some(user_id), request_id, event_id };
    let submitted = submission.submit(&*store, &scope, &chat_id, "/message").await?;
    Ok(Json(SayResponse {
        status: "Message received",
        chat_id: chat_id.into(),
        sequence: submitted.message.sequence,
    }))
}
