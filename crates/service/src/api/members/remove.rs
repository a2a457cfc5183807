use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;

use crate::extract::needs::Manage;
use crate::extract::{ChatScope, PathUserId, Query};
use crate::openapi::{ChatPath, UserPath};
use crate::problem::{MemberProblems, Problem};

/// Removes a member from a chat. Idempotent. Their messages stay.
///
/// Streams that the user has open end within `limits.recheck_ms`. The visibility still decides whether the user may read
/// the chat and join it again.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/members/{user_id}", tag = "members",
    operation_id = "remove_member", params(ChatPath, UserPath),
    security(("bearer_token" = ["manage"])),
    responses((status = 204, description = "The user is not a member"), MemberProblems),
)]
pub(crate) async fn remove_member(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    PathUserId(user_id): PathUserId,
    Query(()): Query<()>,
) -> Result<StatusCode, Problem> {
    store.remove_member(&scope, &chat_id, &user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
