//! For whom the calls of a chat count: the field `user_id` of the chat's rollup (decision 0058).
//!
//! Every transaction that counts calls updates that rollup and learns from it for whom they count. A transaction that gives
//! the calls to another user changes the field, so the two exclude each other.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use mongodb::action::{Action as _, Find};
use mongodb::options::Hint;
use records::{AppId, ChatId, Rollup, RollupKey, Subject, Tally, UserId};
use tokio::time::Instant;

use super::Counted;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collections::stats_index;
use crate::mongo::documents::{
    CHAT, COUNTED_USER, ChatStart, StoredRollup, USER, USER_USAGE_VERSION, call_record, open_call,
    open_chat_session, rollup_id,
};
use crate::mongo::engine::calls::WriteCall;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::hinted;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::stats::Workflow;

/// How long it may take to count the calls of one chat for another user. The server may end a transaction sooner.
const MAX_HANDOVER: Duration = Duration::from_mins(2);

/// How many chats are given to a user at the same time.
const AT_ONCE: usize = 4;

/// How many rollups of a user are examined at a time.
const ROLLUPS: usize = 200;

/// A change of the user for whom the calls of a chat count.
#[derive(Debug, Clone)]
pub(super) struct Handover {
    pub(super) workflow: Workflow,
    pub(super) chat_id: ChatId,
    /// The user until now; `None` if the calls count for no user.
    pub(super) from: Option<UserId>,
    /// The user from now on.
    pub(super) to: Option<UserId>,
}

impl MongoStore {
    /// Counts the calls of a chat for another user, in one transaction. Returns whether it had to be done.
    ///
    /// Safe to repeat: it does nothing if the calls do not count for the former user.
    pub(super) async fn hand_over(&self, handover: Handover) -> Result<bool, StoreError> {
        let deadline = Instant::now() + MAX_HANDOVER;
        self.write_by(deadline, |call: WriteCall| async move {
            call.transact_without_chat(|tx| call.hand_over_round(tx, &handover)).await
        })
        .await
    }

    async fn hand_over_round(
        &self,
        tx: Transaction<'_>,
        handover: &Handover,
    ) -> Result<Round<bool>, Failure> {
        let Handover { workflow: Workflow { app_id, workflow_name }, chat_id, from, to } = handover;
        tx.begin_counting(app_id, workflow_name).await?;
        let from_user = from.as_ref().map(UserId::as_str);
        let theirs = doc! { "_id": handover.rollup(), COUNTED_USER: from_user };
        let change = to.as_ref().map_or_else(
            || doc! { "$unset": { COUNTED_USER: "" } },
            |to| {
                let named = doc! { COUNTED_USER: to.as_str() };
                doc! { "$set": named, "$max": { "schema_version": USER_USAGE_VERSION } }
            },
        );
        let rollups = &self.inner.workflow_stats;
        let change = rollups.find_one_and_update(theirs, change);
        let Some(raw) = change.session(&mut *tx.session().await?).await? else {
            // Another process was faster.
            return Ok(Round::Done(false));
        };
        let started_at = StoredRollup::read(&raw)?.started_at;
        let tally = self.tally_for_users(&tx, handover).await?;
        let start = ChatStart { at: started_at.unwrap_or_default(), user_id: None };
        let chat = Counted { app_id, workflow_name, chat_id, start };
        self.count(&chat, tally, &tx).await?;
        Ok(Round::Done(true))
    }

    /// Subtracts the calls of a chat from one user, and adds them to the other.
    async fn tally_for_users(
        &self,
        tx: &Transaction<'_>,
        Handover { workflow, chat_id, from, to }: &Handover,
    ) -> Result<Tally, Failure> {
        let of_chat = doc! {
            "app_id": workflow.app_id.as_str(),
            "_id.chat_id": chat_id.as_str(),
            "workflow_name": workflow.workflow_name.as_str(),
        };
        let mut session = tx.session().await?;
        let mut calls = self.inner.provider_calls.find(of_chat).session(&mut *session).await?;
        let mut tally = Tally::default();
        while let Some(raw) = calls.next(&mut session).await.transpose()? {
            let call = call_record(&open_call(&raw)?)?.call;
            for (user_id, times) in [(from, -1), (to, 1)] {
                if let Some(user_id) = user_id {
                    tally.user_call(user_id, &call, times);
                }
            }
        }
        Ok(tally)
    }

    /// Counts the calls of all chats that count for no user for the owners of the chats. Returns the number of chats.
    ///
    /// Safe to repeat. It continues after every page with a new deadline.
    pub(in crate::mongo) async fn count_for_owners(&self) -> Result<u64, StoreError> {
        let (mut after, mut seen, mut counted) = (String::new(), 0_u64, 0_u64);
        let projection =
            doc! { "app_id": 1, "workflow_name": 1, "user_id": 1, "schema_version": 1 };
        loop {
            let page = self.next_sessions(&mut after, &projection).await?;
            if page.is_empty() {
                return Ok(counted);
            }
            let owned = page.iter().filter_map(owned_chat).collect();
            let missing = self.counted_for_no_user(owned).await?;
            counted += stream::iter(missing)
                .map(|handover| self.hand_over(handover))
                .buffer_unordered(AT_ONCE)
                .try_fold(0, async |sum, is_done| Ok(sum + u64::from(is_done)))
                .await?;
            seen += page.len() as u64;
            tracing::debug!(seen, counted, "counted the calls of chats for their users");
        }
    }

    /// Keeps the chats whose calls count for no user.
    async fn counted_for_no_user(
        &self,
        mut chats: Vec<Handover>,
    ) -> Result<Vec<Handover>, StoreError> {
        let ids: Vec<Document> = chats.iter().map(Handover::rollup).collect();
        let query = doc! { "_id": { "$in": ids }, COUNTED_USER: Bson::Null };
        let found: Vec<RawDocumentBuf> = self
            .read(|| async {
                let find = self.inner.workflow_stats.find(query.clone()).hint(by_id());
                Ok(find.projection(doc! { "_id": 1 }).await?.try_collect().await?)
            })
            .await?;
        let name = |raw: &RawDocumentBuf| {
            let id = raw.get_document("_id").ok()?;
            id.get_str("name").ok().map(str::to_owned)
        };
        let names: HashSet<String> = found.iter().filter_map(name).collect();
        chats.retain(|chat| names.contains(chat.chat_id.as_str()));
        Ok(chats)
    }

    /// Counts the calls of a person's chats for the alias, except of those that the person still owns. Returns the number of
    /// chats. Afterwards no rollup without calls names the person.
    pub(in crate::mongo) async fn erase_usage(
        &self,
        app_id: &AppId,
        user_id: &UserId,
        alias: &UserId,
    ) -> Result<u64, StoreError> {
        let mut counted = 0;
        for raw in &self.rollups_naming(app_id, user_id, CHAT).await? {
            let stored = StoredRollup::read(raw)?;
            let Subject::Chat(chat_id) = stored.key.subject else { continue };
            if self.owns(user_id, &chat_id).await? {
                continue;
            }
            let workflow = Workflow { app_id: app_id.clone(), workflow_name: stored.workflow_name };
            let (from, to) = (Some(user_id.clone()), Some(alias.clone()));
            counted += u64::from(self.hand_over(Handover { workflow, chat_id, from, to }).await?);
        }
        self.remove_empty_rollups(app_id, user_id).await?;
        Ok(counted)
    }

    /// Returns whether a chat is a user's. It no longer is once it was purged.
    async fn owns(&self, user_id: &UserId, chat_id: &ChatId) -> Result<bool, StoreError> {
        self.read(|| async {
            let theirs = doc! { "_id": chat_id.as_str(), "user_id": user_id.as_str() };
            let find = self.inner.chat_sessions.find_one(theirs).hint(by_id());
            Ok(find.projection(doc! { "_id": 1 }).await?.is_some())
        })
        .await
    }

    /// Removes rollups of a user whose sums are zero, all documents of a rollup at once: what is removed then adds nothing.
    async fn remove_empty_rollups(
        &self,
        app_id: &AppId,
        user_id: &UserId,
    ) -> Result<(), StoreError> {
        let mut rollups: BTreeMap<_, Vec<Bson>> = BTreeMap::new();
        for raw in &self.rollups_naming(app_id, user_id, USER).await? {
            let stored = StoredRollup::read(raw)?;
            rollups.entry((stored.workflow_name, stored.key)).or_default().push(id_of(raw));
        }
        let rollups: Vec<_> = rollups.into_values().collect();
        for rollups in rollups.chunks(ROLLUPS) {
            let ids = rollups.concat();
            self.write(|call: WriteCall| async move {
                call.transact_without_chat(|tx| call.remove_empty_round(tx, &ids)).await
            })
            .await?;
        }
        Ok(())
    }

    async fn remove_empty_round(
        &self,
        tx: Transaction<'_>,
        ids: &[Bson],
    ) -> Result<Round<()>, Failure> {
        tx.begin().await?;
        let mut session = tx.session().await?;
        let rollups = &self.inner.workflow_stats;
        let these = doc! { "_id": { "$in": ids } };
        let mut found = rollups.find(these).hint(by_id()).session(&mut *session).await?;
        let mut sums: BTreeMap<_, (Rollup, Vec<Bson>)> = BTreeMap::new();
        while let Some(raw) = found.next(&mut session).await.transpose()? {
            let stored = StoredRollup::read(&raw)?;
            let (sum, ids) =
                sums.entry((stored.workflow_name.clone(), stored.key.clone())).or_default();
            stored.add_to(sum)?;
            ids.push(id_of(&raw));
        }
        let empty = sums.into_values().filter(|(sum, _)| sum.is_zero());
        let empty: Vec<Bson> = empty.flat_map(|(_, ids)| ids).collect();
        if !empty.is_empty() {
            let these = doc! { "_id": { "$in": empty } };
            rollups.delete_many(these).hint(by_id()).session(&mut *session).await?;
        }
        Ok(Round::Done(()))
    }

    /// Returns the ids of the rollups of a kind that name a user.
    async fn rollups_naming(
        &self,
        app_id: &AppId,
        user_id: &UserId,
        kind: &str,
    ) -> Result<Vec<RawDocumentBuf>, StoreError> {
        let filter = doc! {
            "_id.app_id": app_id.as_str(),
            COUNTED_USER: user_id.as_str(),
            "_id.kind": kind,
        };
        self.read(|| async {
            hinted(stats_index("ws_app_user_kind_hour"), |hint| async {
                let find =
                    self.inner.workflow_stats.find(filter.clone()).optional(hint, Find::hint);
                let find = find.projection(doc! { "_id": 1, "schema_version": 1 });
                Ok(find.await?.try_collect().await?)
            })
            .await
        })
        .await
    }
}

impl Handover {
    /// Returns the id of the rollup of the chat.
    fn rollup(&self) -> Document {
        let key = RollupKey { subject: Subject::Chat(self.chat_id.clone()), hour: None };
        rollup_id(&self.workflow.app_id, &self.workflow.workflow_name, &key, 0)
    }
}

/// Returns the chat of a session that has an owner.
///
/// A document that cannot be read is skipped, so that it does not block the others: every other call reports it.
fn owned_chat(raw: &RawDocumentBuf) -> Option<Handover> {
    let fields = open_chat_session(raw).ok()?;
    let to = fields.field("user_id").ok()?.optional_parsed().ok()?;
    let workflow = Workflow {
        app_id: fields.parsed("app_id").ok()?,
        workflow_name: fields.parsed("workflow_name").ok()?,
    };
    let chat_id = fields.parsed("_id").ok()?;
    to.is_some().then_some(Handover { workflow, chat_id, from: None, to })
}

fn id_of(raw: &RawDocumentBuf) -> Bson {
    let id = raw.get("_id").ok().flatten();
    id.and_then(|id| Bson::try_from(id).ok()).unwrap_or(Bson::Null)
}

fn by_id() -> Hint {
    Hint::Keys(doc! { "_id": 1 })
}
