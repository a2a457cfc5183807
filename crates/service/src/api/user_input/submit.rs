use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use records::{ChatId, EventId, InputRequestId, Permission, Scope};
use serde::Deserialize;
use utoipa::ToSchema;

use super::say::SubmitResponse;
use crate::extract::needs::Say;
use crate::extract::{IdempotencyKey, Json, Keyed, Query, UnscopedCaller, record_support};
use crate::openapi::values;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;
use crate::submission::Submission;

/// An answer to an input request, in any chat of an app.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SubmittedAnswer, example = json!({
    "app_id": "acme_corp", "input_request_id": "input_0198d4b2", "user_input": "MongoDB"
}))]
pub(crate) struct SubmitRequest {
    /// The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    #[schema(value_type = values::AppId)]
    app_id: Option<String>,
    #[schema(value_type = values::Name)]
    input_request_id: InputRequestId,
    #[schema(min_length = 1)]
    user_input: String,
    /// The chat; required if several chats of the caller have a request with that id, or only a chat of another user.
    #[schema(value_type = Option<values::ChatId>)]
    chat_id: Option<ChatId>,
    /// Makes a retry safe.
    #[schema(value_type = Option<values::Name>)]
    event_id: Option<EventId>,
}

impl Keyed for SubmitRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("event_id", &mut self.event_id)
    }
}

/// Returns the only chat that has a request with an id.
///
/// Of a person only the own chats are searched: others can add the person to theirs, and ask there under the same id.
pub(crate) async fn only_chat(
    state: &AppState,
    scope: &Scope,
    request_id: &InputRequestId,
) -> Result<ChatId, Problem> {
    let owned = Scope { permission: Permission::Manage, ..scope.clone() };
    match &*state.store.find_input_requests(&owned, request_id).await? {
        [found] => Ok(found.chat_id.clone()),
        [] => {
            let detail = format!(
                "input request {request_id} is in no chat of the caller; name the chat_id of another chat"
            );
            Err(Problem::new(ProblemKind::INPUT_NOT_FOUND, detail))
        }
        [..] => {
            let detail = "is required: several chats have an input request with that id";
            Err(Problem::invalid_body("/chat_id", detail))
        }
    }
}

/// Answers an input request that is given by its id alone.
///
/// A question that is bound to a tool call must be answered with the route of the input request.
#[operation(
    answers = "The request is answered",
    repeated = "The request was answered before, with this answer",
    problems = [FORBIDDEN_OWNER, CHAT_NOT_FOUND, CHAT_ENDED, INPUT_NOT_FOUND, INPUT_CLOSED, TOOL_CALL_MISMATCH, EVENT_CONFLICT, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn submit_user_input(
    State(state): State<AppState>,
    caller: UnscopedCaller<Say>,
    Query(()): Query<()>,
    Json(request): Json<SubmitRequest>,
) -> Result<(StatusCode, Json<SubmitResponse>), Problem> {
    let scope = caller.scope_in(request.app_id.as_deref(), &state).await?;
    let request_id = request.input_request_id;
    let chat_id = match request.chat_id {
        Some(chat_id) => chat_id,
        None => only_chat(&state, &scope, &request_id).await?,
    };
    record_support(&state, &scope, Some(&chat_id)).await?;
    let submission = Submission {
        text: request.user_input,
        user_id: None,
        request_id: Some(request_id),
        event_id: request.event_id,
    };
    let submitted = submission.submit(&*state.store, &scope, &chat_id, "/user_input").await?;
    Ok(SubmitResponse::from_submitted(chat_id.into(), submitted))
}
