use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;

use super::OWN;
use crate::extract::{InChat, Query, UserName, check_is_own};
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
    InChat { scope, chat_id }: InChat,
    UserName(user_id): UserName,
    Query(()): Query<()>,
) -> Result<StatusCode, Problem> {
    check_is_own(&scope.caller, &user_id, OWN)?;
    store.leave_chat(&scope, &chat_id, &user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
