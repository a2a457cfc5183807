use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query, Tagged};
use crate::problem::Problem;
use crate::wire::ArtifactResponse;

/// Returns the last artifact, or null if the chat has none.
#[operation(answers = "The last artifact, or null")]
pub(crate) async fn get_artifact(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
    _: Reserve<12>,
) -> Result<Tagged<Json<ArtifactResponse>>, Problem> {
    let versions = store.record_versions(&scope, &chat_id).await?;
    let artifact = store.get_last_artifact(&scope, &chat_id).await?;
    // No write can depend on an artifact that is not there.
    let tag = artifact.is_some().then(|| versions.artifact.to_string());
    Ok(Tagged { tag, response: Json(ArtifactResponse::new(chat_id, artifact)) })
}
