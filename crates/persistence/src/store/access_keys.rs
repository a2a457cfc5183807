use async_trait::async_trait;
use records::{AccessKey, AccessKeyId, AccessKeyKind, NewAccessKey};

use crate::StoreError;

/// Stores the digests of the keys that Reprise has issued.
///
/// These calls take no scope: a key is what a scope is made from.
#[async_trait]
pub trait AccessKeys: Send + Sync {
    /// Stores a key.
    ///
    /// Safe to repeat: a key that is stored already is returned as it is.
    async fn create_access_key(&self, key: NewAccessKey) -> Result<AccessKey, StoreError>;

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

    /// Revokes a key for good. Returns it, or `None` if there is none.
    ///
    /// Safe to repeat: a key that is revoked already is returned with its first time.
    async fn revoke_access_key(&self, id: &AccessKeyId) -> Result<Option<AccessKey>, StoreError>;
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
