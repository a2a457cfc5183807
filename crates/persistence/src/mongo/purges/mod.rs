//! Purges of chats: one update decides, and what follows removes the records.
//!
//! The update leaves of the session what the statistics count, so that from then on the chat exists for no call. Sealed
//! messages and overlays that forks share stay until the last fork is purged. Calls that were under way may still store
//! something, such as a segment whose sealing then fails, so everything is removed once more after a while.

mod due;
mod removal;

pub(crate) use removal::{bound_filter, records_filter};

use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};
use chrono::{DateTime as Time, TimeDelta, Utc};
use mongodb::action::{Action as _, CountDocuments, FindOne};
use records::{
    Actor, AppId, AuditAction, Caller, ChatId, ChatSession, Due, Hold, Lifecycle, Scope,
};

use self::due::{due_index, due_order, only_due};
use crate::StoreError;
use crate::metrics::{Call, RetentionAction, Sweep};
use crate::mongo::MongoStore;
use crate::mongo::chat_sessions::without_large_fields;
use crate::mongo::collections::{EDITED_AT, HOLD, session_index};
use crate::mongo::documents::{
    ATTRS, IS_UNCOUNTED, LIFECYCLE, LIFECYCLE_AT, NEWEST_LEASE, NEWEST_VERSION, TITLE_KEY,
    TITLE_TRIGRAMS, Tail, chat_session_record, counter, open_chat_session,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::hinted::{SortedFind, hinted};
use crate::mongo::engine::marks::{RECENT_WRITES, with_mark};
use crate::mongo::engine::scope::{chat_filter, writable_chat};
use crate::mongo::engine::sweep::Overdue;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::audit::Audited;
use crate::rules::purge::{check_purge, check_reason, hold_action, remains};
use crate::store::{HoldPage, PURGED_AGAIN_AFTER_MINUTES, Purges};

/// The field of a purged chat with the time at which its records are removed once more.
pub(crate) const PURGE_AGAIN_AT: &str = "purge_again_at";

#[async_trait]
impl Purges for MongoStore {
    async fn purge_chat(
        &self,
        actor: &Actor,
        scope: &Scope,
        chat_id: &ChatId,
        due: Option<(Due, Time<Utc>)>,
    ) -> Result<bool, StoreError> {
        let purging = self.purge(actor, scope, chat_id, due);
        let is_purged = self.observe(Call::PurgeChat, Some(chat_id), purging).await?;
        if is_purged {
            self.inner.metrics.retention.purged(due.map(|(due, _)| due));
        }
        Ok(is_purged)
    }

    async fn list_due(
        &self,
        app_id: &AppId,
        due: Due,
        before: Time<Utc>,
        others: &[(Due, Time<Utc>)],
        limit: usize,
    ) -> Result<Vec<ChatSession>, StoreError> {
        self.observe(Call::ListDue, None, async {
            let list = || async {
                let find = SortedFind {
                    filter: only_due(app_id, due, before, others),
                    sort: due_order(due),
                    index: due_index(due),
                    limit,
                    projection: without_large_fields(),
                };
                let found = find.read(&self.inner.chat_sessions).await?;
                let chats = found
                    .iter()
                    .map(|raw| self.skip_corrupt(Sweep::Purges, chat_session_record(raw)));
                chats.filter_map(Result::transpose).collect()
            };
            self.read(list).await
        })
        .await
    }

    async fn count_due(
        &self,
        app_id: &AppId,
        due: Due,
        before: Time<Utc>,
        others: &[(Due, Time<Utc>)],
    ) -> Result<u64, StoreError> {
        self.observe(Call::CountDue, None, async {
            let count = || async {
                hinted(due_index(due), |hint| async {
                    let filter = only_due(app_id, due, before, others);
                    let count = self.inner.chat_sessions.count_documents(filter);
                    Ok(count.optional(hint, CountDocuments::hint).await?)
                })
                .await
            };
            self.read(count).await
        })
        .await
    }

    async fn archive_inactive(
        &self,
        actor: &Actor,
        app_id: &AppId,
        chat_id: &ChatId,
        inactive_since: Time<Utc>,
    ) -> Result<bool, StoreError> {
        let archiving = self.archive_if_inactive(actor, app_id, chat_id, inactive_since);
        let is_archived = self.observe(Call::ArchiveInactive, Some(chat_id), archiving).await?;
        if is_archived {
            self.inner.metrics.retention.did(RetentionAction::Archive, 1);
        }
        Ok(is_archived)
    }

    async fn finish_purges(&self, limit: usize) -> Result<usize, StoreError> {
        self.observe(Call::FinishPurges, None, async {
            let now = DateTime::from_chrono(self.inner.clock.now());
            let purged = Overdue {
                sweep: Sweep::Purges,
                collection: &self.inner.chat_sessions,
                filter: doc! {
                    PURGE_AGAIN_AT: { "$lte": now },
                    "schema_version": { "$lte": NEWEST_VERSION },
                },
                index: doc! { PURGE_AGAIN_AT: 1 },
                projection: without_large_fields(),
            };
            let finish = |raw: RawDocumentBuf| async move {
                let ChatSession { app_id, chat_id, .. } = chat_session_record(&raw)?;
                self.write(|call| async move {
                    call.attempt(|_| async {
                        call.remove_records(&app_id, &chat_id).await?;
                        let done = doc! { "$unset": { PURGE_AGAIN_AT: "", "bases": "" } };
                        let one = purged_filter(&app_id, &chat_id);
                        call.inner.chat_sessions.update_one(one, done).await?;
                        Ok(true)
                    })
                    .await
                })
                .await
            };
            self.sweep(&purged, limit, finish).await
        })
        .await
    }

    async fn remove_deleted_texts(&self, limit: usize) -> Result<usize, StoreError> {
        self.observe(Call::RemoveDeletedTexts, None, self.sweep_deleted_texts(limit)).await
    }

    async fn next_app_with_chats(
        &self,
        after: Option<&AppId>,
    ) -> Result<Option<AppId>, StoreError> {
        self.observe(Call::NextAppWithChats, None, async {
            let next = || async {
                let found = hinted(session_index("cs_list_created"), |hint| async {
                    let filter = doc! { "app_id": { "$gt": after.map_or("", AppId::as_str) } };
                    let find = self.inner.chat_sessions.find_one(filter).sort(doc! { "app_id": 1 });
                    let find = find.optional(hint, FindOne::hint);
                    Ok(find.projection(doc! { "app_id": 1, "_id": 0 }).await?)
                });
                let found = found.await?;
                let app_id = found.as_ref().and_then(|raw| raw.get_str("app_id").ok());
                Ok(app_id.and_then(|app_id| AppId::parse(app_id).ok()))
            };
            self.read(next).await
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
        self.observe(Call::SetHold, Some(chat_id), async {
            check_reason(reason)?;
            let mark = self.inner.ids.mint("hold_");
            let scope = Scope::service(app_id.clone()).finding_deleted();
            let (actor, chat_id) = (actor.clone(), chat_id.clone());
            let reason = reason.map(str::to_owned);
            self.write(|call| async move {
                let reason = reason.as_deref();
                let round = |tx| call.hold_round(tx, &actor, &scope, &chat_id, reason, &mark);
                call.transact(&scope, &chat_id, round).await
            })
            .await
        })
        .await
    }

    async fn list_holds(
        &self,
        app_id: &AppId,
        limit: usize,
        after: Option<&ChatId>,
    ) -> Result<HoldPage, StoreError> {
        self.observe(Call::ListHolds, None, async {
            let list = || async {
                let after = after.map_or("", ChatId::as_str);
                let find = SortedFind {
                    filter: doc! {
                        "app_id": app_id.as_str(),
                        HOLD: { "$exists": true },
                        "_id": { "$gt": after },
                    },
                    sort: doc! { "_id": 1 },
                    index: session_index("cs_app_held"),
                    limit: limit.saturating_add(1),
                    projection: without_large_fields(),
                };
                let found = find.read(&self.inner.chat_sessions).await?;
                let chats = found.iter().map(|raw| chat_session_record(raw));
                let held = chats.map(|chat| chat.map(|it| Some((it.chat_id, it.hold?))));
                Ok(held.filter_map(Result::transpose).collect::<Result<_, _>>()?)
            };
            Ok(HoldPage::cut(self.read(list).await?, limit))
        })
        .await
    }
}

fn purged_filter(app_id: &AppId, chat_id: &ChatId) -> Document {
    let mut filter = chat_filter(app_id, chat_id);
    filter.insert(LIFECYCLE, Lifecycle::Purged.number());
    filter
}

/// Returns whether a session, of which the lifecycle was read, is purged.
pub(crate) fn is_purged(session: &RawDocument) -> bool {
    session.get_i32(LIFECYCLE).is_ok_and(|it| it == Lifecycle::Purged.number())
}

impl MongoStore {
    pub(crate) async fn purge(
        &self,
        actor: &Actor,
        scope: &Scope,
        chat_id: &ChatId,
        due: Option<(Due, Time<Utc>)>,
    ) -> Result<bool, StoreError> {
        let mark = self.inner.ids.mint("purge_");
        let unfenced = scope.unfenced().finding_deleted();
        let (by, purged) = (actor.clone(), chat_id.clone());
        let purging = self.write(|call| async move {
            let round = |tx| call.purge_round(tx, &by, &unfenced, &purged, due, &mark);
            if !call.transact(&unfenced, &purged, round).await? {
                return Ok(false);
            }
            call.notify_change(&purged);
            let (app_id, chat_id) = (&unfenced.app_id, &purged);
            // What is left if this breaks off is removed by the sweep.
            call.attempt(|_| call.remove_records(app_id, chat_id)).await?;
            Ok(true)
        });
        match purging.await {
            Err(StoreError::ChatNotFound(_)) if due.is_some() => Ok(false),
            Err(StoreError::ChatNotFound(_)) if scope.caller == Caller::Service => {
                if self.purge_reserved(actor, &scope.app_id, chat_id).await? {
                    return Ok(true);
                }
                self.read(|| self.find_purged(&scope.app_id, chat_id)).await?;
                Ok(false)
            }
            purged => purged,
        }
    }

    /// Returns without an error if a chat of the app was purged.
    async fn find_purged(&self, app_id: &AppId, chat_id: &ChatId) -> Result<(), Failure> {
        let find = self.inner.chat_sessions.find_one(purged_filter(app_id, chat_id));
        let found = find.projection(doc! { "_id": 1 }).await?;
        found.map(drop).ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()).into())
    }

    /// Decides on a purge, and takes from the session what was said.
    async fn purge_round(
        &self,
        tx: Transaction<'_>,
        actor: &Actor,
        scope: &Scope,
        chat_id: &ChatId,
        due: Option<(Due, Time<Utc>)>,
        mark: &str,
    ) -> Result<Round<bool>, Failure> {
        if !tx.is_first() {
            let mut ours = purged_filter(&scope.app_id, chat_id);
            ours.insert(RECENT_WRITES, mark);
            if self.inner.chat_sessions.find_one(ours).await?.is_some() {
                return Ok(Round::Done(true));
            }
        }
        self.require(Shape::DeletedChats).await?;
        let raw = self.session_within(scope, chat_id, without_large_fields()).await?;
        let (chat, tail) = (chat_session_record(&raw)?, Tail::read(&open_chat_session(&raw)?)?);
        if !check_purge(&chat, due)? {
            return Ok(Round::Done(false));
        }
        let (app_id, action) = (Some(&scope.app_id), AuditAction::PurgeChat);
        let audited = Audited::of_operator(actor, app_id, Some(chat_id), action);
        let entry = self.audit_document(&audited).await?;
        let now = self.inner.clock.now();
        let mut filter = writable_chat(scope, chat_id);
        filter.insert(HOLD, Bson::Null);
        filter.insert("status", chat.status.number());
        filter.insert("duration_sec", chat.duration_sec);
        filter.insert("last_sequence", counter(tail.last_sequence));
        filter.insert("last_updated_at", DateTime::from_chrono(chat.last_updated_at));
        let remains = remains(&chat, now);
        let mut update = remains_update(&remains, now);
        with_mark(mark, &mut filter, &mut update);
        tx.begin_uncounting(&chat, &remains).await?;
        let update = self.inner.chat_sessions.update_one(filter, update);
        if update.session(&mut *tx.session().await?).await?.matched_count == 0 {
            return Ok(Round::Again);
        }
        self.insert_audit_document(&tx, &entry).await?;
        self.recount_chat(&chat, &remains, &tx).await?;
        Ok(Round::Done(true))
    }

    async fn hold_round(
        &self,
        tx: Transaction<'_>,
        actor: &Actor,
        scope: &Scope,
        chat_id: &ChatId,
        reason: Option<&str>,
        mark: &str,
    ) -> Result<Round<Option<Hold>>, Failure> {
        let is_written = self.was_written(tx.attempt(), scope, chat_id, mark).await?;
        let chat = self.known_chat(scope, chat_id).await?;
        let action = hold_action(&chat, reason).filter(|_| !is_written);
        let Some(action) = action else { return Ok(Round::Done(chat.hold)) };
        self.require(Shape::DeletedChats).await?;
        let audited = Audited::of_operator(actor, Some(&scope.app_id), Some(chat_id), action);
        let entry = self.audit_document(&audited).await?;
        let now = DateTime::from_chrono(self.inner.clock.now());
        let mut filter = writable_chat(scope, chat_id);
        let mut update = doc! { "$unset": { HOLD: "" } };
        if let Some(reason) = reason {
            update = doc! { "$set": { HOLD: { "reason": reason, "since": now } } };
        }
        with_mark(mark, &mut filter, &mut update);
        tx.begin().await?;
        let updated = self.updated_session(Some(&tx), filter, update).await?;
        let Some(updated) = updated else { return Ok(Round::Again) };
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(updated.hold))
    }
}

/// Returns the update after which a session document holds nothing but what remains of its chat.
fn remains_update(chat: &ChatSession, now: Time<Utc>) -> Document {
    let again = now + TimeDelta::minutes(PURGED_AGAIN_AFTER_MINUTES);
    let last_sequence = counter(chat.last_sequence);
    let empty = Vec::<Bson>::new;
    let mut set = doc! {
        "visibility": chat.visibility.as_str(),
        "metadata": {},
        "last_updated_at": DateTime::from_chrono(now),
        "first_sequence": last_sequence,
        "messages": empty(),
        "tail_bytes": 0_i64,
        "recent_edits": empty(),
        "recent_turns": empty(),
        "pending_inputs": empty(),
        "recent_inputs": empty(),
        "context_snapshot": {},
        "context_recent": empty(),
        LIFECYCLE: chat.lifecycle.number(),
        LIFECYCLE_AT: DateTime::from_chrono(now),
        PURGE_AGAIN_AT: DateTime::from_chrono(again),
        "session_version": counter(chat.session_version),
    };
    if chat.is_uncounted {
        set.insert(IS_UNCOUNTED, true);
    }
    for field in [
        "user_id",
        "team_id",
        "status_reason",
        "title",
        "last_artifact",
        "artifact_blob",
        "lease",
        "last_message_at",
        "last_speaker",
        "last_connector",
        "last_mode",
        "last_turn",
        "context_blob",
        "context_written",
    ] {
        set.insert(field, Bson::Null);
    }
    // The bases stay until the records were removed for good: they name the chats whose messages this one has shared. The
    // origin stays for good, because an erasure follows the forks of a chat.
    let gone = [
        "members",
        "is_listed",
        "active_minute",
        "assistant_id",
        "sort",
        "system_prompt",
        TITLE_KEY,
        TITLE_TRIGRAMS,
        ATTRS,
        "updated_by",
        "creation_digest",
        "id_salt",
        HOLD,
        EDITED_AT,
        NEWEST_LEASE,
    ];
    let unset = gone.into_iter().map(|field| (field.to_owned(), Bson::from("")));
    doc! {
        "$set": set,
        "$unset": unset.collect::<Document>(),
        "$inc": { "revision": 1_i64 },
        "$max": { "schema_version": Shape::DeletedChats.format() },
    }
}
