use async_trait::async_trait;
use records::{ChatId, ContextVersion, KeptContext, Scope};

use crate::StoreError;

/// Stores the versions of the context snapshot of a chat: the newest ones, as many as the store is
/// configured to keep ([`ContextVersionPage::KEPT`] by default, and
/// [`ContextVersionPage::KEPT_BYTES`] of those that were replaced).
///
/// Each acknowledged write of a snapshot through [`Contexts`](super::Contexts) is one version, in
/// the order of the writes. There are no other versions. A fork begins with its inherited snapshot
/// as version 1.
#[async_trait]
pub trait ContextHistory: Send + Sync {
    /// Lists the versions below `before`, or all versions, newest first.
    ///
    /// `limit` must be at least 1. Versions do not change. Versions that are removed between two
    /// pages are missing.
    async fn list_context_versions(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        before: Option<u64>,
    ) -> Result<ContextVersionPage, StoreError>;

    /// Returns a version, or `None` if it is no longer stored or never existed.
    async fn get_context_version(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        version: u64,
    ) -> Result<Option<KeptContext>, StoreError>;
}

/// A page of the versions of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextVersionPage {
    /// The versions, newest first.
    pub versions: Vec<ContextVersion>,
    /// The `before` of the next page, if there is a next page.
    pub next: Option<u64>,
}

impl ContextVersionPage {
    /// How many versions of a chat are kept by default.
    pub const KEPT: u64 = 100;
    /// The most bytes of replaced versions of a chat that are kept by default.
    pub const KEPT_BYTES: u64 = 64 << 20;

    /// Makes a page of the first `limit` versions.
    pub(crate) fn cut(mut versions: Vec<ContextVersion>, limit: usize) -> Self {
        let next = super::cut(&mut versions, limit).map(|last| last.version);
        Self { versions, next }
    }
}
