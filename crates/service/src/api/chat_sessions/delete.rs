use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{Lifecycle, SessionChange};

use crate::extract::conditions::Conditional;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Query};
use crate::operation::NoContent;
use crate::problem::Problem;

/// Deletes a chat. Idempotent.
///
/// From then on the chat is not found, its lease is gone and its streams end. What was said in it stays stored until it is
/// purged: until then `undelete` gives everything back. Forks of the chat stay as they are.
#[operation(answers = "The chat is deleted", problems = [UPGRADE_PENDING])]
pub(crate) async fn delete_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage, Conditional>,
    Query(()): Query<()>,
) -> Result<NoContent, Problem> {
    let change = SessionChange::to_lifecycle(Lifecycle::Deleted);
    store.change_chat(&scope.finding_deleted(), &chat_id, change).await?;
    Ok(NoContent)
}
