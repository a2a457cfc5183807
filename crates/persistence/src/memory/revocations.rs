use std::collections::BTreeMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{Actor, AuditAction, NewRevocation, Revocation, RevocationKey};

use super::{MemoryStore, held};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::audit::Audited;
use crate::store::{RevocationCursor, RevocationEntry, RevocationPage, Revocations};

/// The revocations by what they revoke.
pub(super) type RevocationList = BTreeMap<RevocationKey, RevocationEntry>;

#[async_trait]
impl Revocations for MemoryStore {
    async fn revoke(&self, actor: &Actor, new: NewRevocation) -> Result<Revocation, StoreError> {
        self.observe(Call::Revoke, || {
            let now = self.clock.now();
            let mut revocations = held(&self.revocations);
            check_room(&mut revocations, now)?;
            let audited = Audited::of_revocation(actor, &new.key, AuditAction::RevokeTokens);
            self.add_audit_entry(&audited, now)?;
            Ok(put(&mut revocations, new, now))
        })
        .await
    }

    async fn lift_revocation(
        &self,
        actor: &Actor,
        key: &RevocationKey,
    ) -> Result<bool, StoreError> {
        self.observe(Call::LiftRevocation, || {
            let now = self.clock.now();
            let mut revocations = held(&self.revocations);
            let Some(entry) = revocations.get_mut(key) else { return Ok(false) };
            if entry.is_lifted {
                return Ok(true);
            }
            let audited = Audited::of_revocation(actor, key, AuditAction::LiftRevocation);
            self.add_audit_entry(&audited, now)?;
            entry.is_lifted = true;
            entry.changed_at = now;
            entry.revocation.expires_at = Some(now + RevocationEntry::KEPT_LIFTED);
            Ok(true)
        })
        .await
    }

    async fn list_revocations(
        &self,
        limit: usize,
        after: Option<&RevocationCursor>,
    ) -> Result<RevocationPage, StoreError> {
        self.observe(Call::ListRevocations, || {
            let after = after.map(|after| (after.changed_at, after.key.as_ref()));
            let revocations = held(&self.revocations);
            let is_after = |entry: &&RevocationEntry| Some(position(entry)) > after;
            let mut entries: Vec<_> = revocations.values().filter(is_after).cloned().collect();
            entries.sort_by(|one, other| position(one).cmp(&position(other)));
            Ok(RevocationPage::cut(entries, limit))
        })
        .await
    }
}

/// Forgets expired revocations, and fails if the list is full.
pub(super) fn check_room(list: &mut RevocationList, now: DateTime<Utc>) -> Result<(), StoreError> {
    list.retain(|_, entry| !entry.revocation.has_expired(now));
    if list.len() >= Revocation::MAX {
        return Err(StoreError::TooManyRevocations);
    }
    Ok(())
}

/// Puts a revocation on the list. It afterwards covers what it and an earlier one of the same target cover.
pub(super) fn put(list: &mut RevocationList, new: NewRevocation, now: DateTime<Utc>) -> Revocation {
    let expires_at = new.kept_until(now);
    let NewRevocation { key, issued_until, .. } = new;
    let mut revocation = Revocation { key: key.clone(), issued_until, revoked_at: now, expires_at };
    if let Some(RevocationEntry { revocation: earlier, is_lifted: false, .. }) = list.get(&key) {
        revocation.issued_until = later(issued_until, earlier.issued_until);
        revocation.expires_at = later(expires_at, earlier.expires_at);
    }
    let entry =
        RevocationEntry { revocation: revocation.clone(), is_lifted: false, changed_at: now };
    list.insert(key, entry);
    revocation
}

/// Returns the later of two times; `None` is the end of time.
fn later(one: Option<DateTime<Utc>>, other: Option<DateTime<Utc>>) -> Option<DateTime<Utc>> {
    one.zip(other).map(|(one, other)| one.max(other))
}

/// Returns the position of an entry in the list.
fn position(entry: &RevocationEntry) -> (DateTime<Utc>, Option<&RevocationKey>) {
    (entry.changed_at, Some(&entry.revocation.key))
}
