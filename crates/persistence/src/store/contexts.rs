use async_trait::async_trait;
use records::{ChatId, ContextSnapshot, JsonObject, Scope};

use crate::StoreError;

/// Stores the context snapshot of a chat: the state from which its orchestrator resumes.
#[async_trait]
pub trait Contexts: Send + Sync {
    /// Replaces the snapshot, and stores the chat's current `last_sequence` with it.
    ///
    /// The snapshot is limited to [`Limits::SNAPSHOT_BYTES`](records::Limits::SNAPSHOT_BYTES).
    /// Allowed in every status.
    async fn update_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        data: JsonObject,
    ) -> Result<ContextSnapshot, StoreError>;

    /// Merges a JSON merge patch (RFC 7386) into the snapshot, and returns the merged snapshot.
    ///
    /// If patches race, every patch is applied.
    async fn merge_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        patch: JsonObject,
    ) -> Result<ContextSnapshot, StoreError>;

    /// Returns the snapshot, or an empty one with sequence 0 if none was ever stored.
    async fn load_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ContextSnapshot, StoreError>;
}
