use axum::extract::State;
use operation::operation;
use records::{AppId, ChatId, EventId, InputRequestId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::adapters::ForeignQuery;
use crate::api::user_input::submit::only_chat;
use crate::extract::needs::Say;
use crate::extract::{IdempotencyKey, Json, Keyed, UnscopedCaller, record_support};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;
use crate::submission::Submission;
use crate::unset_values::unless_empty;

/// An answer to a question; other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SubmitInput, example = json!({"input_request_id": "input_0198d4b2", "user_input": "Yes"}))]
pub(crate) struct SubmitInputRequest {
    #[schema(value_type = values::Name)]
    input_request_id: InputRequestId,
    #[schema(min_length = 1)]
    user_input: String,
    /// The app; by default the one of `adapters.mozaiks.app_id`.
    #[serde(default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::AppId>)]
    app_id: Option<String>,
    /// The chat; required if several chats of the caller have a question with that id, or only a chat of another user.
    #[serde(default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::ChatId>)]
    chat_id: Option<ChatId>,
    /// Makes a retry safe.
    #[serde(default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::Name>)]
    event_id: Option<EventId>,
}

impl Keyed for SubmitInputRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("event_id", &mut self.event_id)
    }
}

/// The answer is stored.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InputSubmitted)]
pub(crate) struct SubmitInputResponse {
    #[schema(example = "success")]
    status: &'static str,
    message: &'static str,
}

/// Answers a question that is given by its id alone.
#[operation(
    answers = "The question is answered",
    problems = [FORBIDDEN_OWNER, CHAT_NOT_FOUND, CHAT_ENDED, INPUT_NOT_FOUND, INPUT_CLOSED, TOOL_CALL_MISMATCH, EVENT_CONFLICT, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn submit_input(
    State(state): State<AppState>,
    caller: UnscopedCaller<Say>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(request): Json<SubmitInputRequest>,
) -> Result<Json<SubmitInputResponse>, Problem> {
    let configured = state.adapters.mozaiks.app_id.as_ref().map(AppId::as_str);
    let scope = caller.scope_in(request.app_id.as_deref().or(configured), &state).await?;
    let chat_id = match request.chat_id {
        Some(chat_id) => chat_id,
        None => only_chat(&state, &scope, &request.input_request_id).await?,
    };
    record_support(&state, &scope, Some(&chat_id)).await?;
    let submission = Submission {
        text: request.user_input,
        user_id: None,
        request_id: Some(request.input_request_id),
        event_id: request.event_id,
    };
    submission.submit(&*state.store, &scope, &chat_id, "/user_input").await?;
    Ok(Json(SubmitInputResponse {
        status: "success",
        message: "User input submitted successfully",
    }))
}
