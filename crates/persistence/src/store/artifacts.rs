use async_trait::async_trait;
use records::{Artifact, ChatId, NewArtifact, Scope};

use crate::StoreError;

/// Stores the last artifact of a chat.
#[async_trait]
pub trait Artifacts: Send + Sync {
    /// Replaces the last artifact. A missing `updated_at` becomes the time of the write.
    ///
    /// If the caller has seen another version ([`Scope::if_match`]), or there is no artifact, it is
    /// [`Changed`](StoreError::Changed), here and when it is removed.
    async fn update_last_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        artifact: NewArtifact,
    ) -> Result<Artifact, StoreError>;

    /// Returns the last artifact, or `None` if there is none.
    async fn get_last_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<Artifact>, StoreError>;

    /// Removes the last artifact; idempotent.
    async fn clear_last_artifact(&self, scope: &Scope, chat_id: &ChatId) -> Result<(), StoreError>;
}
