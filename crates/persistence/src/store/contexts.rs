use async_trait::async_trait;
use records::{ChatId, ContextSnapshot, JsonObject, Scope};

use crate::StoreError;

/// Keeps the context snapshot of a chat: the state its orchestrator resumes from.
#[async_trait]
pub trait Contexts: Send + Sync {
    /// Replaces the snapshot, and notes the chat's `last_sequence` at that moment with it.
    ///
    /// At most [`Limits::SNAPSHOT_BYTES`](records::Limits::SNAPSHOT_BYTES). Allowed in every status.
    async fn update_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        data: JsonObject,
    ) -> Result<ContextSnapshot, StoreError>;

    /// Merges a JSON merge patch (RFC 7386) into the snapshot, and returns the whole.
    ///
    /// Of patches that race none is lost.
    async fn merge_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        patch: JsonObject,
    ) -> Result<ContextSnapshot, StoreError>;

    /// Returns the snapshot; an empty one, taken at sequence 0, where none was ever stored.
    async fn load_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ContextSnapshot, StoreError>;
}
