use std::ops::Bound;

use async_trait::async_trait;
use records::{AccessKey, AccessKeyId, AccessKeyKind, NewAccessKey};

use super::{MemoryStore, held};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::access_keys::created;
use crate::store::{AccessKeyPage, AccessKeys};

#[async_trait]
impl AccessKeys for MemoryStore {
    async fn create_access_key(&self, key: NewAccessKey) -> Result<AccessKey, StoreError> {
        self.observe(Call::CreateAccessKey, || {
            let key = created(key, self.clock.now());
            Ok(held(&self.access_keys).entry(key.id.clone()).or_insert(key).clone())
        })
        .await
    }

    async fn find_access_key(&self, id: &AccessKeyId) -> Result<Option<AccessKey>, StoreError> {
        self.observe(Call::FindAccessKey, || Ok(held(&self.access_keys).get(id).cloned())).await
    }

    async fn list_access_keys(
        &self,
        kind: AccessKeyKind,
        limit: usize,
        after: Option<&AccessKeyId>,
    ) -> Result<AccessKeyPage, StoreError> {
        self.observe(Call::ListAccessKeys, || {
            let start = after.map_or(Bound::Unbounded, Bound::Excluded);
            let keys = held(&self.access_keys);
            let listed = keys.range((start, Bound::Unbounded)).map(|(_, key)| key);
            let listed = listed.filter(|key| key.kind == kind).take(limit.saturating_add(1));
            Ok(AccessKeyPage::cut(listed.cloned().collect(), limit))
        })
        .await
    }

    async fn use_access_key(&self, id: &AccessKeyId) -> Result<(), StoreError> {
        self.observe(Call::UseAccessKey, || {
            if let Some(key) = held(&self.access_keys).get_mut(id) {
                key.last_used_at = Some(self.clock.now());
            }
            Ok(())
        })
        .await
    }

    async fn revoke_access_key(&self, id: &AccessKeyId) -> Result<Option<AccessKey>, StoreError> {
        self.observe(Call::RevokeAccessKey, || {
            let now = self.clock.now();
            let mut keys = held(&self.access_keys);
            Ok(keys.get_mut(id).map(|key| {
                key.revoked_at.get_or_insert(now);
                key.clone()
            }))
        })
        .await
    }
}
