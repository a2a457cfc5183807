use axum::extract::State;
use axum::http::StatusCode;
use records::{ChatId, EventId, InputRequestId, Scope};
use serde::Deserialize;
use utoipa::ToSchema;

use super::say::SubmitResponse;
use crate::extract::{Json, Query, UnscopedCaller};
use crate::problem::{Problem, ProblemKind, SubmitProblems};
use crate::state::AppState;
use crate::submission::Submission;

/// The answer to an input request, wherever it was asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SubmittedAnswer, example = json!({
    "app_id": "acme_corp", "input_request_id": "input_0198d4b2", "user_input": "MongoDB"
}))]
pub(crate) struct SubmitRequest {
    /// The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    #[schema(value_type = String)]
    app_id: Option<String>,
    #[schema(value_type = String)]
    input_request_id: InputRequestId,
    user_input: String,
    /// The chat, where several have a request of that id.
    #[schema(value_type = Option<String>)]
    chat_id: Option<ChatId>,
    /// Makes it safe to send again.
    #[schema(value_type = Option<String>)]
    event_id: Option<EventId>,
}

/// Returns the chat that has a request of that id.
async fn only_chat(
    state: &AppState,
    scope: &Scope,
    request_id: &InputRequestId,
) -> Result<ChatId, Problem> {
    match &*state.store.find_input_requests(scope, request_id).await? {
        [found] => Ok(found.chat_id.clone()),
        [] => {
            let detail = format!("there is no input request {request_id}");
            Err(Problem::new(ProblemKind::INPUT_NOT_FOUND, detail))
        }
        [..] => {
            let detail = "must be there: several chats have a request of that id";
            Err(Problem::invalid_body("/chat_id", detail))
        }
    }
}

/// Answers an input request that is named by nothing but its id.
///
/// For a question that is bound to a call of a tool, use the route of the request.
#[utoipa::path(
    post, path = "/api/user-input/submit", tag = "user input", operation_id = "submit_user_input",
    request_body = SubmitRequest,
    responses(
        (status = 201, description = "The request is answered", body = SubmitResponse),
        (status = 200, description = "It was, with this very answer", body = SubmitResponse),
        SubmitProblems,
    ),
)]
pub(crate) async fn submit_user_input(
    State(state): State<AppState>,
    caller: UnscopedCaller,
    Query(()): Query<()>,
    Json(request): Json<SubmitRequest>,
) -> Result<(StatusCode, Json<SubmitResponse>), Problem> {
    let scope = caller.scope_in(request.app_id.as_deref(), &state).await?;
    let request_id = request.input_request_id;
    let chat_id = match request.chat_id {
        Some(chat_id) => chat_id,
        None => only_chat(&state, &scope, &request_id).await?,
    };
    let submission = Submission {
        text: request.user_input,
        user_id: None,
        request_id: Some(request_id),
        event_id: request.event_id,
    };
    let submitted = submission.submit(&*state.store, &scope, &chat_id, "/user_input").await?;
    Ok(SubmitResponse::from_submitted(chat_id.into(), submitted))
}
