use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{Actor, AppId, AuditAction, AuditEntry, ChatId, Pseudonym, Scope, UserId};

use super::{MemoryStore, held};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::audit::{Audited, Pseudonyms, new_key};
use crate::store::{AuditCursor, AuditFilter, AuditLog, AuditPage};

#[async_trait]
impl AuditLog for MemoryStore {
    async fn record_chat_read(
        &self,
        scope: &Scope,
        chat_id: Option<&ChatId>,
        action: AuditAction,
    ) -> Result<(), StoreError> {
        self.observe(Call::RecordChatRead, || {
            if let Some(chat_id) = chat_id {
                self.with_chat(scope, chat_id, |_| Ok(()))?;
            }
            self.add_read_entry(&Audited::in_scope(scope, chat_id, action))
        })
        .await
    }

    async fn record_registry_read(
        &self,
        actor: &Actor,
        app_id: Option<&AppId>,
        action: AuditAction,
    ) -> Result<(), StoreError> {
        self.observe(Call::RecordRegistryRead, || {
            self.add_read_entry(&Audited::of_registry(actor, app_id, action))
        })
        .await
    }

    async fn record_action(
        &self,
        actor: &Actor,
        app_id: Option<&AppId>,
        chat_id: Option<&ChatId>,
        action: AuditAction,
    ) -> Result<(), StoreError> {
        self.observe(Call::RecordAction, || {
            let audited = Audited::of_operator(actor, app_id, chat_id, action);
            self.add_audit_entry(&audited, self.clock.now())
        })
        .await
    }

    async fn list_audit_entries(
        &self,
        filter: &AuditFilter,
        limit: usize,
        after: Option<&AuditCursor>,
    ) -> Result<AuditPage, StoreError> {
        self.observe(Call::ListAuditEntries, || {
            let is_after = |entry: &AuditEntry| {
                after.is_none_or(|after| (entry.at, &entry.entry_id) < (after.at, &after.entry_id))
            };
            let entries = held(&self.audit_entries);
            let admitted = entries.iter().filter(|entry| filter.admits(entry) && is_after(entry));
            let mut entries: Vec<AuditEntry> = admitted.cloned().collect();
            entries.sort_by(|a, b| (b.at, &b.entry_id).cmp(&(a.at, &a.entry_id)));
            Ok(AuditPage::cut(entries, limit))
        })
        .await
    }

    async fn get_pseudonym(
        &self,
        app_id: Option<&AppId>,
        user_id: &UserId,
    ) -> Result<Option<Pseudonym>, StoreError> {
        self.observe(Call::GetPseudonym, || {
            let person = (app_id.cloned(), user_id.clone());
            Ok(held(&self.pseudonym_keys).get(&person).map(|key| key.pseudonym(user_id)))
        })
        .await
    }

    async fn destroy_pseudonym(
        &self,
        app_id: Option<&AppId>,
        user_id: &UserId,
    ) -> Result<(), StoreError> {
        self.observe(Call::DestroyPseudonym, || {
            held(&self.pseudonym_keys).remove(&(app_id.cloned(), user_id.clone()));
            Ok(())
        })
        .await
    }
}

impl MemoryStore {
    /// Adds the entry of an action. Call this when nothing else can refuse the action, and before it is applied.
    pub(super) fn add_audit_entry(
        &self,
        audited: &Audited,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let pseudonyms = self.pseudonyms(audited)?;
        let mut entries = held(&self.audit_entries);
        let id = format!("audit_{:016}", entries.len());
        entries.push(audited.entry(id, now, pseudonyms)?);
        Ok(())
    }

    /// Adds the entry of a read, unless the entry of an equal one in the same minute exists.
    fn add_read_entry(&self, audited: &Audited) -> Result<(), StoreError> {
        let entry = audited.read_entry(self.clock.now(), self.pseudonyms(audited)?)?;
        let mut entries = held(&self.audit_entries);
        if entries.iter().all(|known| known.entry_id != entry.entry_id) {
            entries.push(entry);
        }
        Ok(())
    }

    fn pseudonyms(&self, audited: &Audited) -> Result<Pseudonyms, StoreError> {
        let pseudonym = |person: Option<&UserId>| {
            person.map(|user_id| self.pseudonym(audited.app_id(), user_id)).transpose()
        };
        let (actor, subject) = (pseudonym(audited.person())?, pseudonym(audited.subject())?);
        Ok(Pseudonyms { actor, subject })
    }

    pub(super) fn pseudonym(
        &self,
        app_id: Option<&AppId>,
        user_id: &UserId,
    ) -> Result<Pseudonym, StoreError> {
        let mut keys = held(&self.pseudonym_keys);
        let person = (app_id.cloned(), user_id.clone());
        if let Some(key) = keys.get(&person) {
            return Ok(key.pseudonym(user_id));
        }
        let key = new_key()?;
        let pseudonym = key.pseudonym(user_id);
        keys.insert(person, key);
        Ok(pseudonym)
    }
}
