use async_trait::async_trait;
use records::{
    AppId, Assistant, AssistantChange, AssistantId, AuditAction, NewAssistant, Permission, Scope,
    UserId,
};

use super::{MemoryStore, held};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::assistant::{AssistantWrite, Decision, check_manages, check_seen};
use crate::rules::audit::Audited;
use crate::store::{
    AssistantCursor, AssistantFilter, AssistantPage, AssistantTags, Assistants, DeletedAssistants,
    Written,
};

#[async_trait]
impl Assistants for MemoryStore {
    async fn put_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
        new: NewAssistant,
    ) -> Result<Written<Assistant>, StoreError> {
        self.observe(Call::PutAssistant, || {
            let write = AssistantWrite::Put(Box::new(new));
            self.write_assistant(scope, assistant_id, write).map(Decision::written)
        })
        .await
    }

    async fn change_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
        change: AssistantChange,
    ) -> Result<Assistant, StoreError> {
        self.observe(Call::ChangeAssistant, || {
            let write = AssistantWrite::Change(Box::new(change));
            let decision = self.write_assistant(scope, assistant_id, write)?;
            Ok(decision.written().record)
        })
        .await
    }

    async fn get_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
    ) -> Result<Option<Assistant>, StoreError> {
        self.observe(Call::GetAssistant, || {
            let assistants = held(&self.assistants);
            let found = assistants.get(&key(scope, assistant_id));
            let reach = scope.reach(Permission::Read);
            Ok(found.filter(|found| reach.includes_record(*found)).cloned())
        })
        .await
    }

    async fn delete_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
    ) -> Result<bool, StoreError> {
        self.observe(Call::DeleteAssistant, || {
            let mut assistants = held(&self.assistants);
            let key = key(scope, assistant_id);
            let Some(stored) = assistants.get(&key) else { return Ok(false) };
            match check_manages(scope, stored) {
                Err(StoreError::AssistantNotFound(_)) => return Ok(false),
                checked => checked?,
            }
            check_seen(scope, stored)?;
            self.audit_assistants(scope, AuditAction::DeleteAssistant)?;
            Ok(assistants.remove(&key).is_some())
        })
        .await
    }

    async fn list_assistants(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
        limit: usize,
        after: Option<&AssistantCursor>,
    ) -> Result<AssistantPage, StoreError> {
        self.observe(Call::ListAssistants, || Ok(self.assistants_page(scope, filter, limit, after)))
            .await
    }

    async fn list_assistant_tags(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
    ) -> Result<AssistantTags, StoreError> {
        self.observe(Call::ListAssistantTags, || {
            let mut tags = AssistantTags::default();
            for assistant in self.listed_assistants(scope, filter, None) {
                if !tags.add(&assistant, filter) {
                    break;
                }
            }
            Ok(tags)
        })
        .await
    }

    async fn delete_assistants(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
        limit: usize,
    ) -> Result<DeletedAssistants, StoreError> {
        self.observe(Call::DeleteAssistants, || {
            let page = self.assistants_page(scope, filter, limit, None);
            if !page.assistants.is_empty() {
                self.audit_assistants(scope, AuditAction::DeleteAssistants)?;
            }
            let mut assistants = held(&self.assistants);
            for assistant in &page.assistants {
                assistants.remove(&key(scope, &assistant.assistant_id));
            }
            let deleted = page.assistants.len() as u64;
            Ok(DeletedAssistants { deleted, has_more: page.next.is_some() })
        })
        .await
    }
}

impl MemoryStore {
    fn write_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
        write: AssistantWrite,
    ) -> Result<Decision, StoreError> {
        write.check()?;
        let mut assistants = held(&self.assistants);
        let key = key(scope, assistant_id);
        let (stored, action) = (assistants.get(&key).cloned(), write.action());
        let decision = write.decide(scope, assistant_id, stored, self.clock.now())?;
        if let Decision::Store(assistant) = &decision {
            self.audit_assistants(scope, action)?;
            assistants.insert(key, assistant.clone());
        }
        Ok(decision)
    }

    fn audit_assistants(&self, scope: &Scope, action: AuditAction) -> Result<(), StoreError> {
        self.add_audit_entry(&Audited::in_scope(scope, None, action), self.clock.now())
    }

    fn assistants_page(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
        limit: usize,
        after: Option<&AssistantCursor>,
    ) -> AssistantPage {
        let mut page = AssistantPage::default();
        for assistant in self.listed_assistants(scope, filter, after) {
            if !page.add(assistant, filter, limit) {
                break;
            }
        }
        page
    }

    /// Returns the assistants whose fields a filter admits, in the order of the list.
    fn listed_assistants(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
        after: Option<&AssistantCursor>,
    ) -> Vec<Assistant> {
        let reach = scope.reach(scope.permission);
        let assistants = held(&self.assistants);
        let of_app = assistants.values().filter(|it| it.app_id == scope.app_id);
        let listed = of_app.filter(|it| filter.is_listed(reach, it));
        let is_after = |it: &&Assistant| after.is_none_or(|after| filter.place(it) > *after);
        let mut listed: Vec<Assistant> = listed.filter(is_after).cloned().collect();
        listed.sort_by_key(|it| filter.place(it));
        listed
    }

    /// Deletes the assistants of a person; returns how many there were.
    pub(super) fn delete_assistants_of(&self, app_id: &AppId, user_id: &UserId) -> u64 {
        let mut assistants = held(&self.assistants);
        let before = assistants.len();
        assistants.retain(|_, it| it.app_id != *app_id || it.user_id.as_ref() != Some(user_id));
        (before - assistants.len()) as u64
    }
}

fn key(scope: &Scope, assistant_id: &AssistantId) -> (AppId, AssistantId) {
    (scope.app_id.clone(), assistant_id.clone())
}
