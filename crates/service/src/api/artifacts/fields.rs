use records::{Artifact, ChatId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::ArtifactFields;

/// The last artifact of a chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ArtifactResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// Null if the chat has no artifact.
    last_artifact: Option<ArtifactFields>,
}

impl ArtifactResponse {
    pub(super) fn new(chat_id: ChatId, artifact: Option<Artifact>) -> Self {
        Self { chat_id: chat_id.into(), last_artifact: artifact.map(Into::into) }
    }
}
