use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{Lifecycle, SessionChange};

use crate::adapters::ForeignQuery;
use crate::extract::ChatScope;
use crate::extract::needs::Manage;
use crate::operation::NoContent;
use crate::problem::Problem;

/// Deletes a session with both of its streams. It is not found any more, also by another deletion.
#[operation(answers = "The session is deleted", problems = [UPGRADE_PENDING])]
pub(crate) async fn delete_session(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    ForeignQuery(()): ForeignQuery<()>,
) -> Result<NoContent, Problem> {
    let change = SessionChange::to_lifecycle(Lifecycle::Deleted);
    store.change_chat(&scope, &chat_id, change).await?;
    Ok(NoContent)
}
