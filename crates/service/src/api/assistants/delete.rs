use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use crate::extract::conditions::Seen;
use crate::extract::needs::Manage;
use crate::extract::{AssistantScope, Query};
use crate::operation::NoContent;
use crate::problem::Problem;

/// Deletes an assistant for good. Idempotent. Chats keep its id, which may be used again.
#[operation(answers = "There is no such assistant")]
pub(crate) async fn delete_assistant(
    State(store): State<Arc<dyn Store>>,
    AssistantScope { scope, id: assistant_id, .. }: AssistantScope<Manage, Seen>,
    Query(()): Query<()>,
) -> Result<NoContent, Problem> {
    store.delete_assistant(&scope, &assistant_id).await?;
    Ok(NoContent)
}
