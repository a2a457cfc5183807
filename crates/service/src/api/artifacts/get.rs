use std::sync::Arc;

use axum::extract::State;
use persistence::Store;

use super::ArtifactResponse;
use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query, Tagged};
use crate::openapi::{ChatPath, IfNoneMatchHeader};
use crate::problem::{ChatProblems, Problem};

/// Returns the last artifact, or null if the chat has none.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/artifact", tag = "artifact",
    operation_id = "get_artifact", params(ChatPath, IfNoneMatchHeader),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "The last artifact, or null", body = ArtifactResponse,
            headers(("ETag", description = "The entity tag of the artifact: its version"))),
        (status = 304, description = "The caller has it already"),
        ChatProblems,
    ),
)]
pub(crate) async fn get_artifact(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
    _: Reserve<12>,
) -> Result<Tagged<Json<ArtifactResponse>>, Problem> {
    let versions = store.record_versions(&scope, &chat_id).await?;
    let artifact = store.get_last_artifact(&scope, &chat_id).await?;
    let response = Json(ArtifactResponse::new(chat_id, artifact));
    Ok(Tagged { tag: Some(versions.artifact.to_string()), response })
}
