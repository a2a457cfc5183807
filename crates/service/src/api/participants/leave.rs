use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::Permission;
use records::UserId;

use crate::extract::needs::Read;
use crate::extract::{ChatScope, Path, Query};
use crate::operation::NoContent;
use crate::problem::Problem;

/// Removes a participant from a chat, who is no member then either. Idempotent. Their messages stay.
///
/// Removing another user needs the permission `manage`.
#[operation(answers = "The user is not a participant", problems = [FORBIDDEN_OWNER])]
pub(crate) async fn leave_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(user_id): Path<UserId>,
    Query(()): Query<()>,
) -> Result<NoContent, Problem> {
    // Every user may leave; removing another one is managing the chat.
    let is_self = scope.caller.may_act_for(&user_id);
    let scope = if is_self { scope } else { scope.needing(Permission::Manage) };
    store.leave_chat(&scope, &chat_id, &user_id).await?;
    Ok(NoContent)
}
