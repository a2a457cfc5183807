use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use persistence::Store;
use serde::Deserialize;
use utoipa::ToSchema;

use super::ContextResponse;
use super::preference::Preference;
use super::version::retained_version;
use crate::admission::Reserve;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Keyed, Query};
use crate::openapi::{ChatPath, FencingHeader, IfMatchHeader, PreferHeader};
use crate::problem::{Problem, RestoreContextProblems};

/// The version to restore.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"version": 2}))]
pub(crate) struct RestoreContextRequest {
    version: u64,
}

impl Keyed for RestoreContextRequest {}

/// Restores an earlier version: writes its variables as a new version.
///
/// The new version reflects all messages that the chat has now.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/context/restore", tag = "context snapshot",
    operation_id = "restore_context", params(ChatPath, FencingHeader, IfMatchHeader, PreferHeader), request_body = RestoreContextRequest,
    security(("bearer_token" = ["run"])),
    responses(
        (status = 200, description = "The snapshot as stored", body = ContextResponse,
            headers(("ETag", description = "The entity tag of the snapshot, after a write with `If-Match`"))),
        RestoreContextProblems,
    ),
)]
pub(crate) async fn restore_context(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    Query(()): Query<()>,
    preference: Preference,
    _: Reserve<12>,
    Json(request): Json<RestoreContextRequest>,
) -> Result<Response, Problem> {
    let kept = retained_version(&*store, &scope, &chat_id, request.version).await?;
    let snapshot = store.update_context_snapshot(&scope, &chat_id, kept.data).await?;
    Ok(preference.respond(&scope, chat_id, snapshot))
}
