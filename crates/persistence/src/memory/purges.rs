use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{
    Actor, AppId, AuditAction, Caller, ChatId, ChatSession, Due, Hold, Lifecycle, Scope,
};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::metrics::{Call, RetentionAction};
use crate::rules::audit::Audited;
use crate::rules::purge::{archived, check_purge, check_reason, hold_action, remains};
use crate::store::{HoldPage, Purges};

#[async_trait]
impl Purges for MemoryStore {
    async fn purge_chat(
        &self,
        actor: &Actor,
        scope: &Scope,
        chat_id: &ChatId,
        due: Option<(Due, DateTime<Utc>)>,
    ) -> Result<bool, StoreError> {
        self.observe(Call::PurgeChat, || {
            let now = self.clock.now();
            if scope.caller == Caller::Service && self.is_purged(&scope.app_id, chat_id) {
                return Ok(false);
            }
            let purged = self.with_chat(&scope.finding_deleted(), chat_id, |chat| {
                if !check_purge(&chat.session, due)? {
                    return Ok(false);
                }
                let (app_id, action) = (Some(&scope.app_id), AuditAction::PurgeChat);
                let audited = Audited::of_operator(actor, app_id, Some(chat_id), action);
                self.add_audit_entry(&audited, now)?;
                self.purge(chat, now);
                self.metrics.retention.purged(due.map(|(due, _)| due));
                self.notify_change(chat);
                Ok(true)
            });
            match purged {
                Err(StoreError::ChatNotFound(_)) if due.is_some() => Ok(false),
                purged => purged,
            }
        })
        .await
    }

    async fn list_due(
        &self,
        app_id: &AppId,
        due: Due,
        before: DateTime<Utc>,
        others: &[(Due, DateTime<Utc>)],
        limit: usize,
    ) -> Result<Vec<ChatSession>, StoreError> {
        self.observe(Call::ListDue, || {
            let mut found = self.due(app_id, due, before, others);
            found.sort_by_key(|chat| match due {
                Due::Deleted => chat.lifecycle_at,
                Due::Completed | Due::Failed | Due::Abandoned | Due::Inactive => {
                    Some(chat.last_active_at())
                }
            });
            found.truncate(limit);
            Ok(found)
        })
        .await
    }

    async fn count_due(
        &self,
        app_id: &AppId,
        due: Due,
        before: DateTime<Utc>,
        others: &[(Due, DateTime<Utc>)],
    ) -> Result<u64, StoreError> {
        let count = || Ok(self.due(app_id, due, before, others).len() as u64);
        self.observe(Call::CountDue, count).await
    }

    async fn archive_inactive(
        &self,
        actor: &Actor,
        app_id: &AppId,
        chat_id: &ChatId,
        inactive_since: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        self.observe(Call::ArchiveInactive, || {
            let now = self.clock.now();
            let archiving = self.with_chat(&Scope::service(app_id.clone()), chat_id, |chat| {
                if !Due::Inactive.includes(&chat.session, inactive_since) {
                    return Ok(false);
                }
                let action = AuditAction::ArchiveChat;
                let audited = Audited::of_operator(actor, Some(app_id), Some(chat_id), action);
                self.add_audit_entry(&audited, now)?;
                chat.session = archived(&chat.session, now);
                self.metrics.retention.did(RetentionAction::Archive, 1);
                self.notify_change(chat);
                Ok(true)
            });
            match archiving {
                Err(StoreError::ChatNotFound(_)) => Ok(false),
                is_archived => is_archived,
            }
        })
        .await
    }

    async fn finish_purges(&self, _limit: usize) -> Result<usize, StoreError> {
        // A purge takes everything at once, and no call is under way meanwhile.
        self.observe(Call::FinishPurges, || Ok(0)).await
    }

    async fn remove_deleted_texts(&self, _limit: usize) -> Result<usize, StoreError> {
        // Forks have copies, so a deletion takes the text at once.
        self.observe(Call::RemoveDeletedTexts, || Ok(0)).await
    }

    async fn next_app_with_chats(
        &self,
        after: Option<&AppId>,
    ) -> Result<Option<AppId>, StoreError> {
        self.observe(Call::NextAppWithChats, || {
            let chats = self.chats();
            let apps = chats.values().map(|chat| &chat.session.app_id);
            Ok(apps.filter(|app_id| after.is_none_or(|after| *app_id > after)).min().cloned())
        })
        .await
    }

    async fn set_hold(
        &self,
        actor: &Actor,
        app_id: &AppId,
        chat_id: &ChatId,
        reason: Option<&str>,
    ) -> Result<Option<Hold>, StoreError> {
        self.observe(Call::SetHold, || {
            check_reason(reason)?;
            let now = self.clock.now();
            let scope = Scope::service(app_id.clone()).finding_deleted();
            self.with_chat(&scope, chat_id, |chat| {
                if let Some(action) = hold_action(&chat.session, reason) {
                    let audited = Audited::of_operator(actor, Some(app_id), Some(chat_id), action);
                    self.add_audit_entry(&audited, now)?;
                    let held = |reason: &str| Hold { reason: reason.to_owned(), since: now };
                    chat.session.hold = reason.map(held);
                }
                Ok(chat.session.hold.clone())
            })
        })
        .await
    }

    async fn list_holds(
        &self,
        app_id: &AppId,
        limit: usize,
        after: Option<&ChatId>,
    ) -> Result<HoldPage, StoreError> {
        self.observe(Call::ListHolds, || {
            let chats = self.chats();
            let of_app = chats.values().map(|chat| &chat.session).filter(|chat| {
                chat.app_id == *app_id && after.is_none_or(|after| chat.chat_id > *after)
            });
            let held = of_app.filter_map(|chat| Some((chat.chat_id.clone(), chat.hold.clone()?)));
            let mut holds: Vec<_> = held.collect();
            holds.sort_by(|(one, _), (other, _)| one.cmp(other));
            Ok(HoldPage::cut(holds, limit))
        })
        .await
    }
}

impl MemoryStore {
    fn is_purged(&self, app_id: &AppId, chat_id: &ChatId) -> bool {
        let chats = self.chats();
        let session = chats.get(chat_id).map(|chat| &chat.session);
        session.is_some_and(|it| it.app_id == *app_id && it.lifecycle == Lifecycle::Purged)
    }

    /// Leaves of a chat what the statistics count.
    pub(super) fn purge(&self, chat: &mut Chat, now: DateTime<Utc>) {
        let was_uncounted = chat.session.is_uncounted;
        chat.purge(now);
        if chat.session.is_uncounted != was_uncounted {
            self.count(&chat.session, now);
        }
    }

    fn due(
        &self,
        app_id: &AppId,
        due: Due,
        before: DateTime<Utc>,
        others: &[(Due, DateTime<Utc>)],
    ) -> Vec<ChatSession> {
        let chats = self.chats();
        let chats = chats.values().map(|chat| &chat.session);
        let is_due = |chat: &&ChatSession| {
            chat.app_id == *app_id
                && due.includes(chat, before)
                && !others.iter().any(|(other, before)| other.includes(chat, *before))
        };
        chats.filter(is_due).cloned().collect()
    }
}

impl Chat {
    /// Leaves what the statistics count.
    fn purge(&mut self, now: DateTime<Utc>) {
        let session = remains(&self.session, now);
        let mut calls = std::mem::take(&mut self.calls);
        for digested in &mut calls {
            digested.call.request_id = None;
        }
        let status_changes = std::mem::take(&mut self.status_changes);
        let (turns, counted_user) = (self.turns, self.counted_user.take());
        *self = Self { counted_user, turns, calls, status_changes, ..Self::new(session) };
    }
}
