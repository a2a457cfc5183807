use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::NewArtifact;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::extract::conditions::Conditional;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Keyed, Query, Tagged, tag_after_write};
use crate::problem::Problem;
use crate::wire::ArtifactResponse;
use crate::wire::Time;

/// An artifact to store; strings of at most 256 characters.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewArtifact, example = json!({
    "ui_tool_id": "code_editor",
    "event_id": "evt_xyz789",
    "display": "artifact",
    "workflow_name": "Generator",
    "payload": {"language": "python", "code": "print('Hello')"}
}))]
pub(crate) struct PutArtifactRequest {
    /// The UI tool that shows it.
    ui_tool_id: Option<String>,
    /// The event that produced it.
    event_id: Option<String>,
    /// The place in the user interface.
    display: Option<String>,
    /// The workflow that produced it.
    workflow_name: Option<String>,
    /// The data that the tool shows, at most 8 MiB.
    #[serde(default)]
    payload: Value,
    /// When it was produced; the time of storing if missing.
    updated_at: Option<Time>,
}

impl Keyed for PutArtifactRequest {}

impl From<PutArtifactRequest> for NewArtifact {
    fn from(request: PutArtifactRequest) -> Self {
        Self {
            ui_tool_id: request.ui_tool_id,
            event_id: request.event_id,
            display: request.display,
            workflow_name: request.workflow_name,
            payload: request.payload,
            updated_at: request.updated_at.map(|time| time.0),
        }
    }
}

/// Replaces the last artifact.
#[operation(answers = "The artifact as stored", problems = [ARTIFACT_TOO_LARGE])]
pub(crate) async fn put_artifact(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Conditional>,
    Query(()): Query<()>,
    Json(request): Json<PutArtifactRequest>,
) -> Result<Tagged<Json<ArtifactResponse>>, Problem> {
    let artifact = store.update_last_artifact(&scope, &chat_id, request.into()).await?;
    let response = Json(ArtifactResponse::new(chat_id, Some(artifact)));
    Ok(Tagged { tag: tag_after_write(&scope), response })
}
