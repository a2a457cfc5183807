use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;
use records::Permission;

use crate::extract::needs::Read;
use crate::extract::{ChatScope, PathUserId, Query};
use crate::openapi::{ChatPath, UserPath};
use crate::problem::{LeaveProblems, Problem};

/// Removes a participant from a chat, who is no member then either. Idempotent. Their messages stay.
///
/// Removing another user needs the permission `manage`.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/participants/{user_id}", tag = "participants",
    operation_id = "leave_chat", params(ChatPath, UserPath),
    security(("bearer_token" = ["read"])),
    responses((status = 204, description = "The user is not a participant"), LeaveProblems),
)]
pub(crate) async fn leave_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    PathUserId(user_id): PathUserId,
    Query(()): Query<()>,
) -> Result<StatusCode, Problem> {
    // Every user may leave; removing another one is managing the chat.
    let is_self = scope.caller.may_act_for(&user_id);
    let scope = if is_self { scope } else { scope.needing(Permission::Manage) };
    store.leave_chat(&scope, &chat_id, &user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
