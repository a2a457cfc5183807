use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;

use crate::extract::needs::Run;
use crate::extract::{ChatScope, Query};
use crate::openapi::{ChatPath, FencingHeader, IfMatchHeader};
use crate::problem::{DeleteArtifactProblems, Problem};

/// Removes the last artifact. Idempotent.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/artifact", tag = "artifact",
    operation_id = "delete_artifact", params(ChatPath, FencingHeader, IfMatchHeader),
    security(("bearer_token" = ["run"])),
    responses((status = 204, description = "The chat has no artifact"), DeleteArtifactProblems),
)]
pub(crate) async fn delete_artifact(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    Query(()): Query<()>,
) -> Result<StatusCode, Problem> {
    store.clear_last_artifact(&scope, &chat_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
