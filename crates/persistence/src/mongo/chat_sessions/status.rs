//! The status of a chat.

use bson::{Bson, DateTime, doc};
use records::{ChatId, ChatSession, ChatStatus, Scope, StatusChange, Tally};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{StatusChangeDocument, encode, status_change_id};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::marks::with_mark;
use crate::mongo::engine::scope::writable_chat;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::stats::Counted;
use crate::mongo::streams::EndedStreams;
use crate::rules::audit::{Audited, status_action};
use crate::rules::new_chat::{changes_pause_reason, moved};

/// A change of the status of a session.
pub(super) struct NewStatus {
    pub(super) status: ChatStatus,
    pub(super) reason: Option<String>,
    /// Identifies the call, so that a retry recognises its own write.
    pub(super) change_id: String,
}

impl MongoStore {
    pub(super) async fn set_status_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        new: &NewStatus,
    ) -> Result<Round<(ChatSession, EndedStreams)>, Failure> {
        let chat = self.known_chat(scope, chat_id).await?;
        let (next, reason) = (new.status, new.reason.as_deref());
        if !tx.is_first() {
            let has_status_change = self.has_status_change(scope, chat_id, &new.change_id).await?;
            let is_written = self.was_written(tx.attempt(), scope, chat_id, &new.change_id).await?;
            if has_status_change || is_written {
                return Ok(Round::Done((chat, Vec::new())));
            }
        }
        if changes_pause_reason(&chat, next, reason) {
            let paused = self.change_pause_reason(scope, &chat, reason, &new.change_id).await?;
            return Ok(Round::of(paused.map(|paused| (paused, Vec::new()))));
        }
        if chat.status == next {
            return Ok(Round::Done((chat, Vec::new())));
        }
        if !chat.status.may_become(next) {
            let (chat_id, from, to) = (chat_id.clone(), chat.status, next);
            return Err(StoreError::IllegalTransition { chat_id, from, to }.into());
        }
        let audited = status_action(chat.status, next);
        let audited = audited.map(|action| Audited::in_scope(scope, Some(chat_id), action));
        let entry = self.audit_document_of(audited.as_ref()).await?;
        tx.begin_counted(&chat).await?;
        let moved = moved(&chat, next, reason, self.inner.clock.now());
        let moved = self.change_status_within(&tx, scope, &chat, &moved, &new.change_id).await?;
        let Some(moved) = moved else { return Ok(Round::Again) };
        if let Some(entry) = &entry {
            self.insert_audit_document(&tx, entry).await?;
        }
        let ended = self.end_streams_within(&tx, scope, &moved).await?;
        Ok(Round::Done((moved, ended)))
    }

    /// Sets a new reason for a paused chat; `None` if the chat has changed since it was read.
    async fn change_pause_reason(
        &self,
        scope: &Scope,
        chat: &ChatSession,
        reason: Option<&str>,
        mark: &str,
    ) -> Result<Option<ChatSession>, Failure> {
        let mut filter = writable_chat(scope, &chat.chat_id);
        filter.insert("status", chat.status.number());
        filter.insert("status_reason", chat.status_reason.as_deref());
        let now = DateTime::from_chrono(self.inner.clock.now());
        let mut update = doc! { "$set": { "status_reason": reason, "last_updated_at": now } };
        with_mark(mark, &mut filter, &mut update);
        self.updated_session(None, filter, update).await
    }

    /// Returns whether an earlier attempt has changed the status.
    async fn has_status_change(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        change_id: &str,
    ) -> Result<bool, Failure> {
        let id = status_change_id(chat_id, change_id);
        let one = doc! { "_id": id, "app_id": scope.app_id.as_str() };
        Ok(self.inner.status_changes.find_one(one).await?.is_some())
    }

    /// Changes the status of a chat within a transaction, and counts it; `None` if the chat has changed
    /// since it was read.
    pub(crate) async fn change_status_within(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat: &ChatSession,
        moved: &ChatSession,
        change_id: &str,
    ) -> Result<Option<ChatSession>, Failure> {
        let mut filter = writable_chat(scope, &chat.chat_id);
        filter.insert("status", chat.status.number());
        filter.insert("duration_sec", chat.duration_sec);
        let mut set = doc! {
            "status": moved.status.number(),
            "status_reason": moved.status_reason.as_deref(),
            "completed_at": moved.completed_at.map(DateTime::from_chrono),
            "duration_sec": moved.duration_sec,
            "last_updated_at": DateTime::from_chrono(moved.last_updated_at),
        };
        if moved.status.is_ended() {
            set.insert("lease", Bson::Null);
        } else if let Some(lease) = chat.lease.as_ref().filter(|_| moved.lease.is_none()) {
            // The update must not match if the owner has renewed the lease since.
            filter.insert("lease.expires_at", DateTime::from_chrono(lease.expires_at));
            set.insert("lease", Bson::Null);
        }
        let update = doc! { "$set": set };
        // This update comes first, so that concurrent appends wait for the transaction, and not the
        // reverse.
        let updated = self.updated_session(Some(tx), filter, update).await?;
        let Some(mut updated) = updated else { return Ok(None) };
        let change = StatusChange {
            chat_id: chat.chat_id.clone(),
            from: chat.status,
            to: moved.status,
            changed_at: moved.last_updated_at,
        };
        let (app_id, workflow_name) = (&chat.app_id, &chat.workflow_name);
        let document = StatusChangeDocument::new(app_id, workflow_name, &change, change_id);
        let document = encode(&document)?;
        let insert = self.inner.status_changes.insert_one(document);
        insert.session(&mut *tx.session().await?).await?;
        self.keep_webhook_event(&updated, change_id, tx).await?;
        let mut tally = Tally::default();
        tally.chat_change(chat, moved);
        tally.status_change(&change);
        self.count(&Counted::of(chat), tally, tx).await?;
        if updated.status.is_ended() {
            self.end_inputs(&mut updated, tx).await?;
        }
        Ok(Some(updated))
    }
}
