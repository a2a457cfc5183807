use async_trait::async_trait;
use records::{Artifact, ChatId, NewArtifact, Scope};

use super::MemoryStore;
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::if_match::Versioned;
use crate::store::Artifacts;

#[async_trait]
impl Artifacts for MemoryStore {
    async fn update_last_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        artifact: NewArtifact,
    ) -> Result<Artifact, StoreError> {
        self.observe(Call::UpdateLastArtifact, || {
            artifact.check()?;
            let now = self.clock.now();
            let artifact = artifact.kept_at(now);
            self.with_chat(scope, chat_id, |chat| {
                chat.check_fence(scope.fencing_token)?;
                let (version, exists) = (chat.artifact_version, chat.artifact.is_some());
                Versioned::Artifact.check(scope, chat_id, version, exists)?;
                chat.session.last_updated_at = now;
                chat.artifact = Some(artifact.clone());
                chat.artifact_version += 1;
                self.notify_change(chat);
                Ok(artifact)
            })
        })
        .await
    }

    async fn get_last_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<Artifact>, StoreError> {
        self.observe(Call::GetLastArtifact, || {
            self.with_chat(scope, chat_id, |chat| Ok(chat.artifact.clone()))
        })
        .await
    }

    async fn clear_last_artifact(&self, scope: &Scope, chat_id: &ChatId) -> Result<(), StoreError> {
        self.observe(Call::ClearLastArtifact, || {
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                if chat.artifact.is_some() {
                    chat.check_fence(scope.fencing_token)?;
                    Versioned::Artifact.check(scope, chat_id, chat.artifact_version, true)?;
                    chat.artifact = None;
                    chat.session.last_updated_at = now;
                    chat.artifact_version += 1;
                    self.notify_change(chat);
                }
                Ok(())
            })
        })
        .await
    }
}
