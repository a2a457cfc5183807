use axum::extract::State;
use operation::operation;
use records::{AppId, ChatId, InputRequestId, Permission};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::answer::answer;
use crate::adapters::ForeignQuery;
use crate::api::user_input::submit::only_chat;
use crate::extract::needs::Say;
use crate::extract::{Json, Keyed, UnscopedCaller, record_support};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;
use crate::unset_values::unless_empty;

/// What a user did with a tool of the user interface; other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SubmitUiTool, example = json!({
    "event_id": "input_0198d4b2", "response_data": {"status": "success", "data": {"name": "Todo"}}
}))]
pub(crate) struct SubmitUiToolRequest {
    /// The question of the workflow: the `request_id` of its input request.
    #[schema(value_type = values::Name)]
    event_id: InputRequestId,
    /// The answer, any JSON but null.
    #[serde(default)]
    #[schema(value_type = Value)]
    response_data: Value,
    /// The app; by default the one of `adapters.mozaiks.app_id`.
    #[serde(default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::AppId>)]
    app_id: Option<String>,
    /// The chat; required if several chats of the caller have a question with that id, or only a chat of another user.
    #[serde(default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::ChatId>)]
    chat_id: Option<ChatId>,
}

impl Keyed for SubmitUiToolRequest {}

/// The answer is stored.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubmittedUiTool)]
pub(crate) struct SubmitUiToolResponse {
    #[schema(example = "success")]
    status: &'static str,
    message: &'static str,
}

/// Answers the question of a workflow that a tool of the user interface shows. Idempotent: the same answer again is a repeat.
#[operation(
    answers = "The question is answered",
    problems = [FORBIDDEN_OWNER, CHAT_NOT_FOUND, CHAT_ENDED, INPUT_NOT_FOUND, INPUT_CLOSED, EVENT_CONFLICT, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn submit_ui_tool(
    State(state): State<AppState>,
    caller: UnscopedCaller<Say>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(request): Json<SubmitUiToolRequest>,
) -> Result<Json<SubmitUiToolResponse>, Problem> {
    let configured = state.adapters.mozaiks.app_id.as_ref().map(AppId::as_str);
    let scope = caller.scope_in(request.app_id.as_deref().or(configured), &state).await?;
    if request.response_data.is_null() {
        return Err(Problem::invalid_body("/response_data", "is required"));
    }
    let chat_id = match request.chat_id {
        Some(chat_id) => chat_id,
        None => only_chat(&state, &scope, &request.event_id).await?,
    };
    record_support(&state, &scope, Some(&chat_id)).await?;
    let reading = scope.needing(Permission::Read);
    let asked = state.store.get_input_request(&reading, &chat_id, &request.event_id).await?;
    answer(&*state.store, &scope, &asked, request.response_data, "/response_data").await?;
    Ok(Json(SubmitUiToolResponse {
        status: "success",
        message: "UI tool response submitted successfully",
    }))
}
