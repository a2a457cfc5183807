use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;

use super::ONLY_FOR_THEMSELVES;
use crate::extract::{ChatScope, PathUserId, Query, check_acts_for};
use crate::openapi::{ChatPath, UserPath};
use crate::problem::{LeaveProblems, Problem};

/// Removes a participant from a chat. Idempotent. Their messages stay.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/participants/{user_id}", tag = "participants",
    operation_id = "leave_chat", params(ChatPath, UserPath),
    responses((status = 204, description = "The user is not a participant"), LeaveProblems),
)]
pub(crate) async fn leave_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    PathUserId(user_id): PathUserId,
    Query(()): Query<()>,
) -> Result<StatusCode, Problem> {
    check_acts_for(&scope.caller, &user_id, ONLY_FOR_THEMSELVES)?;
    store.leave_chat(&scope, &chat_id, &user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
