use records::{Artifact, ChatId};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::Time;

/// An artifact.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Artifact)]
pub(crate) struct ArtifactFields {
    /// The UI tool that shows it.
    #[schema(example = "code_editor")]
    ui_tool_id: Option<String>,
    /// The event that produced it.
    #[schema(example = "evt_xyz789")]
    event_id: Option<String>,
    /// The place in the user interface.
    #[schema(example = "artifact")]
    display: Option<String>,
    /// The workflow that produced it.
    #[schema(example = "Generator")]
    workflow_name: Option<String>,
    /// The data that the tool shows.
    payload: Value,
    /// When it was produced.
    updated_at: Time,
}

impl From<Artifact> for ArtifactFields {
    fn from(artifact: Artifact) -> Self {
        Self {
            ui_tool_id: artifact.ui_tool_id,
            event_id: artifact.event_id,
            display: artifact.display,
            workflow_name: artifact.workflow_name,
            payload: artifact.payload,
            updated_at: artifact.updated_at.into(),
        }
    }
}

/// The last artifact of a chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ArtifactResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// Null if the chat has no artifact.
    last_artifact: Option<ArtifactFields>,
}

impl ArtifactResponse {
    pub(crate) fn new(chat_id: ChatId, artifact: Option<Artifact>) -> Self {
        Self { chat_id: chat_id.into(), last_artifact: artifact.map(Into::into) }
    }
}
