use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use crate::extract::conditions::Conditional;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Query};
use crate::operation::NoContent;
use crate::problem::Problem;

/// Removes the last artifact. Idempotent.
#[operation(answers = "The chat has no artifact")]
pub(crate) async fn delete_artifact(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Conditional>,
    Query(()): Query<()>,
) -> Result<NoContent, Problem> {
    store.clear_last_artifact(&scope, &chat_id).await?;
    Ok(NoContent)
}
