use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use crate::extract::needs::Run;
use crate::extract::{ChatScope, FencingToken, Path, Query};
use crate::operation::NoContent;
use crate::problem::Problem;

/// Releases a lease. Idempotent.
#[operation(answers = "The lease is released")]
pub(crate) async fn release_lease(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    Path(FencingToken(token)): Path<FencingToken>,
    Query(()): Query<()>,
) -> Result<NoContent, Problem> {
    store.release_lease(&scope, &chat_id, token).await?;
    Ok(NoContent)
}
