use std::ops::Bound;

use async_trait::async_trait;
use records::{AccessKey, AccessKeyId, AccessKeyKind, Actor, AuditAction, NewAccessKey};

use super::revocations::{check_room, put};
use super::{MemoryStore, held};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::access_keys::created;
use crate::rules::audit::Audited;
use crate::store::{AccessKeyPage, AccessKeys};

#[async_trait]
impl AccessKeys for MemoryStore {
    async fn create_access_key(
        &self,
        actor: Option<&Actor>,
        key: NewAccessKey,
    ) -> Result<AccessKey, StoreError> {
        self.observe(Call::CreateAccessKey, || {
            let now = self.clock.now();
            let key = created(key, now);
            let mut keys = held(&self.access_keys);
            if let Some(found) = keys.get(&key.id) {
                return Ok(found.clone());
            }
            if let Some(actor) = actor {
                let audited = Audited::of_key(actor, &key, AuditAction::CreateKey);
                self.add_audit_entry(&audited, now)?;
            }
            keys.insert(key.id.clone(), key.clone());
            Ok(key)
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

    async fn revoke_access_key(
        &self,
        actor: Option<&Actor>,
        id: &AccessKeyId,
    ) -> Result<Option<AccessKey>, StoreError> {
        self.observe(Call::RevokeAccessKey, || {
            let now = self.clock.now();
            let mut keys = held(&self.access_keys);
            let Some(key) = keys.get_mut(id) else { return Ok(None) };
            if key.revoked_at.is_some() {
                return Ok(Some(key.clone()));
            }
            if let Some(actor) = actor {
                let audited = Audited::of_key(actor, key, AuditAction::RevokeKey);
                self.add_audit_entry(&audited, now)?;
            }
            if let Some(new) = key.revocation() {
                let mut revocations = held(&self.revocations);
                if check_room(&mut revocations, now).is_ok() {
                    put(&mut revocations, new, now);
                }
            }
            key.revoked_at = Some(now);
            Ok(Some(key.clone()))
        })
        .await
    }
}
