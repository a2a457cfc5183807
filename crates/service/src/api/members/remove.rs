use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::UserId;

use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Path, Query};
use crate::operation::NoContent;
use crate::problem::Problem;

/// Removes a member from a chat. Idempotent. Their messages stay.
///
/// Streams that the user has open end within `limits.recheck_ms`. The visibility still decides whether the user may read
/// the chat and join it again.
#[operation(answers = "The user is not a member", problems = [FENCED, TOO_MANY_MEMBERS])]
pub(crate) async fn remove_member(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    Path(user_id): Path<UserId>,
    Query(()): Query<()>,
) -> Result<NoContent, Problem> {
    store.remove_member(&scope, &chat_id, &user_id).await?;
    Ok(NoContent)
}
