use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::CallId;

use crate::extract::conditions::Fenced;
use crate::extract::needs::Bill;
use crate::extract::{ChatScope, Path, Query};
use crate::operation::NoContent;
use crate::problem::Problem;

/// Deletes a call: it is excluded from usage, and `produced_by_call_id` is removed from the messages that
/// name it. Idempotent.
#[operation(answers = "The chat has no such call")]
pub(crate) async fn delete_call(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Bill, Fenced>,
    Path(call_id): Path<CallId>,
    Query(()): Query<()>,
) -> Result<NoContent, Problem> {
    store.delete_call(&scope, &chat_id, &call_id).await?;
    Ok(NoContent)
}
