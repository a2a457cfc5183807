use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{
    ChatId, ChatSession, ChatStatus, ContextSnapshot, MetadataKeys, NewChatSession, Scope,
    SessionChange, StatusChange, UserId,
};

use super::webhook_events::KeptEvent;
use super::{Chat, MemoryStore, held};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::audit::{Audited, change_action, status_action};
use crate::rules::if_match::Versioned;
use crate::rules::lists::serving_lists;
use crate::rules::new_chat::{changes_pause_reason, moved, started};
use crate::store::{ChatCount, ChatFilter, ChatSessions, ListCursor, Page};

#[async_trait]
impl ChatSessions for MemoryStore {
    async fn create_chat(
        &self,
        scope: &Scope,
        new: NewChatSession,
    ) -> Result<ChatSession, StoreError> {
        self.observe(Call::CreateChat, || {
            new.check()?;
            let session = started(scope, new, &*self.clock, &*self.ids)?;
            self.insert(&mut self.chats(), Chat::new(session))
        })
        .await
    }

    async fn get_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ChatSession>, StoreError> {
        self.observe(Call::GetChat, || {
            let chats = self.chats();
            let chat = chats.get(chat_id).filter(|chat| chat.permits(scope));
            Ok(chat.map(|chat| chat.session.clone()))
        })
        .await
    }

    async fn list_chats(
        &self,
        scope: &Scope,
        filter: &ChatFilter,
        limit: usize,
        after: Option<&ListCursor>,
    ) -> Result<Page, StoreError> {
        self.observe(Call::ListChats, || {
            serving_lists(scope, filter, after)?;
            self.check_metadata_key(scope, filter)?;
            let (order, direction) = (filter.order, filter.direction());
            let mut chats = self.listed(scope, filter);
            chats.retain(|chat| {
                let at = ListCursor::at(chat, order);
                after.is_none_or(|after| direction.compare(after, &at) == Ordering::Less)
            });
            Ok(Page::cut(chats, limit, filter))
        })
        .await
    }

    async fn count_chats(
        &self,
        scope: &Scope,
        filter: &ChatFilter,
    ) -> Result<ChatCount, StoreError> {
        self.observe(Call::CountChats, || {
            serving_lists(scope, filter, None)?;
            self.check_metadata_key(scope, filter)?;
            Ok(ChatCount::of(self.listed(scope, filter).len()))
        })
        .await
    }

    async fn index_metadata(&self, _limit: usize) -> Result<usize, StoreError> {
        // Lists read the metadata themselves.
        self.observe(Call::IndexMetadata, || Ok(0)).await
    }

    async fn set_status(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        next: ChatStatus,
        reason: Option<&str>,
    ) -> Result<ChatSession, StoreError> {
        self.observe(Call::SetStatus, || {
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                if changes_pause_reason(&chat.session, next, reason) {
                    chat.check_fence(scope.fencing_token)?;
                    let session = &mut chat.session;
                    session.status_reason = reason.map(str::to_owned);
                    session.last_updated_at = now;
                    self.notify_change(chat);
                    return Ok(chat.session.clone());
                }
                let session = &chat.session;
                if session.status == next {
                    return Ok(session.clone());
                }
                if !session.status.may_become(next) {
                    let (from, to) = (session.status, next);
                    return Err(StoreError::IllegalTransition {
                        chat_id: chat_id.clone(),
                        from,
                        to,
                    });
                }
                chat.check_fence(scope.fencing_token)?;
                if let Some(action) = status_action(chat.session.status, next) {
                    let audited = Audited::in_scope(scope, Some(chat_id), action);
                    self.add_audit_entry(&audited, now)?;
                }
                chat.change_status(next, reason, now);
                self.end_streams(chat, now);
                self.count(&chat.session, now);
                self.notify_change(chat);
                Ok(chat.session.clone())
            })
        })
        .await
    }

    async fn change_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        change: SessionChange,
    ) -> Result<ChatSession, StoreError> {
        self.observe(Call::ChangeChat, || {
            change.check()?;
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                chat.check_fence(scope.fencing_token)?;
                let session = &chat.session;
                Versioned::Session.check(scope, chat_id, session.session_version, true)?;
                let Some(changed) = change.apply(session, scope.caller.person(), now)? else {
                    return Ok(session.clone());
                };
                let action = change_action(session, &changed);
                let audited = Audited::in_scope(scope, Some(chat_id), action);
                self.add_audit_entry(&audited, now)?;
                if chat.session.is_uncounted != changed.is_uncounted {
                    self.count(&changed, now);
                }
                chat.session = changed;
                self.end_streams(chat, now);
                self.notify_change(chat);
                Ok(chat.session.clone())
            })
        })
        .await
    }
}

impl MemoryStore {
    /// Refuses a list by a key of the metadata that the app has not declared.
    fn check_metadata_key(&self, scope: &Scope, filter: &ChatFilter) -> Result<(), StoreError> {
        let Some(metadata) = &filter.metadata else { return Ok(()) };
        let apps = held(&self.apps);
        let declared = apps.get(&scope.app_id).map(|app| &app.settings.metadata_keys);
        declared.unwrap_or(&MetadataKeys::default()).check(metadata)?;
        Ok(())
    }

    /// Returns the chats of a list, in no order.
    fn listed(&self, scope: &Scope, filter: &ChatFilter) -> Vec<ChatSession> {
        self.chats()
            .values()
            .filter(|chat| chat.session.app_id == scope.app_id)
            .filter(|chat| filter.of_app || scope.lists(&chat.session, &chat.members))
            .filter(|chat| filter.member.as_ref().is_none_or(|user| chat.has_member(user)))
            .map(|chat| &chat.session)
            .filter(|chat| scope.finds(chat.lifecycle) && filter.admits(chat))
            .cloned()
            .collect()
    }

    /// Stores a new chat, unless its id exists.
    pub(super) fn insert(
        &self,
        chats: &mut HashMap<ChatId, Chat>,
        chat: Chat,
    ) -> Result<ChatSession, StoreError> {
        let session = chat.session.clone();
        match chats.entry(session.chat_id.clone()) {
            Entry::Occupied(_) => Err(StoreError::ChatExists(session.chat_id)),
            Entry::Vacant(vacant) => {
                vacant.insert(chat);
                self.count(&session, session.created_at);
                Ok(session)
            }
        }
    }
}

impl Chat {
    /// Returns a chat without messages.
    pub(super) fn new(session: ChatSession) -> Self {
        Self {
            counted_user: session.user_id.clone(),
            session,
            fencing_token: 0,
            newest_lease: None,
            turns: 0,
            points: Vec::new(),
            turn_digests: HashMap::new(),
            messages: Vec::new(),
            context: ContextSnapshot::default(),
            context_version: 0,
            contexts: VecDeque::new(),
            artifact: None,
            artifact_version: 0,
            revision: 0,
            recent_edits: Vec::new(),
            calls: Vec::new(),
            tool_runs: Vec::new(),
            streams: Vec::new(),
            inputs: Vec::new(),
            input_version: 0,
            recent_inputs: Vec::new(),
            status_changes: Vec::new(),
            webhook_events: Vec::new(),
            members: Vec::new(),
            participants: Vec::new(),
            announced: BTreeMap::new(),
        }
    }

    fn has_member(&self, user_id: &UserId) -> bool {
        self.members.iter().any(|member| member.user_id == *user_id)
    }

    /// Changes the status.
    pub(super) fn change_status(
        &mut self,
        next: ChatStatus,
        reason: Option<&str>,
        now: DateTime<Utc>,
    ) {
        let session = &mut self.session;
        self.status_changes.push(StatusChange {
            chat_id: session.chat_id.clone(),
            from: session.status,
            to: next,
            changed_at: now,
        });
        *session = moved(session, next, reason, now);
        if next.is_ended() {
            let event_id = format!("{}_{}", self.session.chat_id, self.status_changes.len());
            self.webhook_events.push(KeptEvent::new(&self.session, event_id));
            self.end_inputs(now);
        }
    }
}
