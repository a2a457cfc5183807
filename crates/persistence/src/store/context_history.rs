use async_trait::async_trait;
use records::{ChatId, ContextVersion, KeptContext, Scope};

use crate::StoreError;

/// Keeps the snapshots that were written of a chat: the newest, and so many before it as the store was told
/// ([`ContextVersionPage::KEPT`] by default).
///
/// Each write of a snapshot that is acknowledged is one version, those of [`Contexts`](super::Contexts) in their
/// order, and there is no other. A fork begins with the snapshot it took over, as version 1.
#[async_trait]
pub trait ContextHistory: Send + Sync {
    /// Lists the versions below one, or all, newest first.
    ///
    /// `limit` must be at least 1. Versions do not change; those that fall out of the bound while one pages are
    /// missing.
    async fn list_context_versions(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        before: Option<u64>,
    ) -> Result<ContextVersionPage, StoreError>;

    /// Returns a version, or `None` where it is not kept, or never was.
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
    /// What the next page is to be below, when there is one.
    pub next: Option<u64>,
}

impl ContextVersionPage {
    /// How many versions are kept of a chat, unless the store was told.
    pub const KEPT: u64 = 100;

    /// Makes a page of the first `limit` of the versions given.
    pub(crate) fn cut(mut versions: Vec<ContextVersion>, limit: usize) -> Self {
        let next = super::cut(&mut versions, limit).map(|last| last.version);
        Self { versions, next }
    }
}
