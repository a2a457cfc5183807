use async_trait::async_trait;
use records::{ChatId, ContextSnapshot, JsonObject, Scope};

use crate::StoreError;

/// Stores the context snapshot of a chat: the state from which its orchestrator resumes.
#[async_trait]
pub trait Contexts: Send + Sync {
    /// Replaces the snapshot, and stores the chat's current `last_sequence` with it.
    ///
    /// If the caller has seen another version ([`Scope::if_match`]), it is [`Changed`](StoreError::Changed), here and
    /// for a merge.
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

    /// Returns the versions of the snapshot and of the last artifact: how often each was written.
    ///
    /// A caller that reads them before the record knows at most an older version than that of the record.
    async fn record_versions(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<RecordVersions, StoreError>;

    /// Returns the snapshot, or an empty one with sequence 0 if none was ever stored.
    async fn load_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ContextSnapshot, StoreError>;
}

/// The versions of the records of a chat that are replaced as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordVersions {
    /// How often the context snapshot was written.
    pub context: u64,
    /// How often the last artifact was written or cleared.
    pub artifact: u64,
}
