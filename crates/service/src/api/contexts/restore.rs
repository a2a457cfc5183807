use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use serde::Deserialize;
use utoipa::ToSchema;

use super::ContextResponse;
use super::version::retained_version;
use crate::admission::Reserve;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::{ChatPath, FencingHeader};
use crate::problem::{Problem, RestoreContextProblems};

/// The version to restore.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestoreContextRequest {
    #[schema(example = 2)]
    version: u64,
}

/// Restores an earlier version: writes its variables as a new version.
///
/// The new version reflects all messages that the chat has now.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/context/restore", tag = "context snapshot",
    operation_id = "restore_context", params(ChatPath, FencingHeader), request_body = RestoreContextRequest,
    security(("bearer_token" = ["run"])),
    responses(
        (status = 200, description = "The snapshot as stored", body = ContextResponse),
        RestoreContextProblems,
    ),
)]
pub(crate) async fn restore_context(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    Query(()): Query<()>,
    _: Reserve<12>,
    Json(request): Json<RestoreContextRequest>,
) -> Result<Json<ContextResponse>, Problem> {
    let kept = retained_version(&*store, &scope, &chat_id, request.version).await?;
    let snapshot = store.update_context_snapshot(&scope, &chat_id, kept.data).await?;
    Ok(Json(ContextResponse::new(chat_id, snapshot)))
}
