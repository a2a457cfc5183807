use async_trait::async_trait;
use records::{AccessKey, AccessKeyId, AccessKeyKind, Actor, NewAccessKey};

use crate::StoreError;

/// Stores the digests of the keys that Reprise has issued.
///
/// These calls take no scope: a key is what a scope is made from. A change by an operator takes its actor, and writes an
/// entry of the [audit log](super::AuditLog) about the person whose key it is. A change without an actor is that of
/// a person who signs in or out, and writes no entry.
#[async_trait]
pub trait AccessKeys: Send + Sync {
    /// Stores a key.
    ///
    /// Safe to repeat: a key that is stored already is returned as it is.
    async fn create_access_key(
        &self,
        actor: Option<&Actor>,
        key: NewAccessKey,
    ) -> Result<AccessKey, StoreError>;

    /// Returns a key, valid or not; `None` if there is none or it was forgotten.
    async fn find_access_key(&self, id: &AccessKeyId) -> Result<Option<AccessKey>, StoreError>;

    /// Lists the keys of a kind after `after`, in the order of their ids.
    ///
    /// `limit` must be at least 1.
    async fn list_access_keys(
        &self,
        kind: AccessKeyKind,
        limit: usize,
        after: Option<&AccessKeyId>,
    ) -> Result<AccessKeyPage, StoreError>;

    /// Notes that a key is used now. An unknown key is ignored.
    async fn use_access_key(&self, id: &AccessKeyId) -> Result<(), StoreError>;

    /// Revokes a key for good, and puts its [revocation](AccessKey::revocation) on the list, so that the streams end
    /// that were opened with it. Returns the key, or `None` if there is none.
    ///
    /// Safe to repeat: a key that is revoked already is returned with its first time, and nothing else changes. If the
    /// list is full, only the key is revoked.
    async fn revoke_access_key(
        &self,
        actor: Option<&Actor>,
        id: &AccessKeyId,
    ) -> Result<Option<AccessKey>, StoreError>;
}

/// A page of access keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessKeyPage {
    /// The keys.
    pub keys: Vec<AccessKey>,
    /// The key after which the next page begins, if there is a next page.
    pub next: Option<AccessKeyId>,
}

impl AccessKeyPage {
    /// Makes a page of the first `limit` keys.
    pub(crate) fn cut(mut keys: Vec<AccessKey>, limit: usize) -> Self {
        let last = super::cut(&mut keys, limit);
        let next = last.map(|key| key.id.clone());
        Self { keys, next }
    }
}
