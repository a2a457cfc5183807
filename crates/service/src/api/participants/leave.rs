use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;

use super::OWN;
use crate::extract::{ChatScope, PathUserId, Query, check_acts_for};
use crate::openapi::{ChatPath, UserPath};
use crate::problem::{LeaveProblems, Problem};

/// Has a user take part no longer. What they have written stays theirs.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/participants/{user_id}", tag = "participants",
    operation_id = "leave_chat", params(ChatPath, UserPath),
    responses((status = 204, description = "They do not take part"), LeaveProblems),
)]
pub(crate) async fn leave_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    PathUserId(user_id): PathUserId,
    Query(()): Query<()>,
) -> Result<StatusCode, Problem> {
    check_acts_for(&scope.caller, &user_id, OWN)?;
    store.leave_chat(&scope, &chat_id, &user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
