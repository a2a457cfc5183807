use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;

use crate::extract::needs::Run;
use crate::extract::{ChatScope, PathFencingToken, Query};
use crate::openapi::{ChatPath, LeasePath};
use crate::problem::{Problem, ReleaseLeaseProblems};

/// Releases a lease. Idempotent.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/lease/{fencing_token}", tag = "leases",
    operation_id = "release_lease", params(ChatPath, LeasePath),
    security(("bearer_token" = ["run"])),
    responses((status = 204, description = "The lease is released"), ReleaseLeaseProblems),
)]
pub(crate) async fn release_lease(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    PathFencingToken(token): PathFencingToken,
    Query(()): Query<()>,
) -> Result<StatusCode, Problem> {
    store.release_lease(&scope, &chat_id, token).await?;
    Ok(StatusCode::NO_CONTENT)
}
