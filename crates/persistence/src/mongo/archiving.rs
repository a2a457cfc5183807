//! Archives chats in which nothing has happened for long.

use bson::DateTime;
use chrono::{DateTime as Time, Utc};
use records::{Actor, AppId, AuditAction, ChatId, Due, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::marks::with_mark;
use crate::mongo::engine::scope::writable_chat;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::leases::same_number;
use crate::mongo::session_change::difference;
use crate::rules::audit::Audited;
use crate::rules::purge::archived;

impl MongoStore {
    pub(super) async fn archive_if_inactive(
        &self,
        actor: &Actor,
        app_id: &AppId,
        chat_id: &ChatId,
        inactive_since: Time<Utc>,
    ) -> Result<bool, StoreError> {
        let mark = self.inner.ids.mint("archival_");
        let scope = Scope::service(app_id.clone());
        let (actor, chat_id) = (actor.clone(), chat_id.clone());
        let archiving = self.write(|call| async move {
            let round =
                |tx| call.archive_round(tx, &actor, &scope, &chat_id, inactive_since, &mark);
            let is_archived = call.transact(&scope, &chat_id, round).await?;
            if is_archived {
                call.notify_change(&chat_id);
            }
            Ok(is_archived)
        });
        match archiving.await {
            Err(StoreError::ChatNotFound(_)) => Ok(false),
            is_archived => is_archived,
        }
    }

    /// Archives the chat, on the condition that nothing happens in it meanwhile.
    async fn archive_round(
        &self,
        tx: Transaction<'_>,
        actor: &Actor,
        scope: &Scope,
        chat_id: &ChatId,
        inactive_since: Time<Utc>,
        mark: &str,
    ) -> Result<Round<bool>, Failure> {
        if self.was_written(tx.attempt(), scope, chat_id, mark).await? {
            return Ok(Round::Done(true));
        }
        let chat = self.known_chat(scope, chat_id).await?;
        if !Due::Inactive.includes(&chat, inactive_since) {
            return Ok(Round::Done(false));
        }
        let (app_id, action) = (Some(&scope.app_id), AuditAction::ArchiveChat);
        let audited = Audited::of_operator(actor, app_id, Some(chat_id), action);
        let entry = self.audit_document(&audited).await?;
        let archived = archived(&chat, self.inner.clock.now());
        let mut filter = writable_chat(scope, chat_id);
        filter.insert("session_version", same_number(chat.session_version));
        filter.insert("last_updated_at", DateTime::from_chrono(chat.last_updated_at));
        let keys = self.declared_keys(&chat.app_id).await?;
        let mut update = difference(&chat, &archived, &keys);
        with_mark(mark, &mut filter, &mut update);
        tx.begin().await?;
        if self.updated_session(Some(&tx), filter, update).await?.is_none() {
            return Ok(Round::Again);
        }
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(true))
    }
}
