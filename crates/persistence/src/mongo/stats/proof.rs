//! Verifies that rollups equal the sums of their records, and corrects those that do not.
//!
//! A server keeps a snapshot for minutes, but all records of a workflow may take hours to read.
//! Therefore the verification is cut into steps, each of which compares the content of one
//! snapshot: chats with their own rollups, hours with the rollups of the hours, and the totals with
//! the sums of both. Every write changes records and rollups by the same amount, so the error of a
//! rollup does not change while writers continue. The errors that steps find at different times can
//! therefore be added up (decision 0027).

mod chats;
mod hours;
mod totals;
mod users;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use bson::{Bson, DateTime as BsonTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime, Utc};
use mongodb::Collection;
use mongodb::options::Hint;
use records::{AppId, ChatId, Rollup, RollupKey, Subject, UserId, WorkflowName};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::difference::StatsDifference;
use super::owners::Handover;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collections::session_index;
use crate::mongo::documents::{rollup_id, rollup_update};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::snapshot::Snapshot;
use crate::store::Cursor;

/// A workflow of an app.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workflow {
    /// The app.
    pub app_id: AppId,
    /// The workflow.
    pub workflow_name: WorkflowName,
}

/// How long a step may take, including retries, before the verification fails.
pub(crate) const MAX_STEP: Duration = Duration::from_mins(10);

/// The approximate number of differences in memory at once.
const MAX_FOUND: usize = 1_000;

/// The verification of one workflow.
struct Verification<'a> {
    store: &'a MongoStore,
    workflow: &'a Workflow,
    /// Called for every record that was read.
    read: &'a (dyn Fn() + Sync),
    position: Position,
    /// The differences that the current step has found.
    found: Vec<StatsDifference>,
    /// The errors of the rollups of hours, summed over all hours.
    off_in_hours: BTreeMap<Subject, Rollup>,
    /// The errors of the rollups of chats. It contains only wrong rollups, so it is small unless much must
    /// be corrected.
    off_in_chats: HashMap<ChatId, Rollup>,
    /// The chats without a status change in the hour in which they ended, because the clocks of two
    /// processes differed.
    without_status_change: BTreeMap<DateTime<Utc>, BTreeSet<ChatId>>,
}

/// What is wrong with the rollup of a chat beside its sums.
#[derive(Debug, Default)]
struct ChatOff {
    missing_start: Option<DateTime<Utc>>,
    wrong_user: Option<[Option<UserId>; 2]>,
}

/// What a verification compares next.
#[derive(Debug, Clone, PartialEq)]
enum Position {
    /// The chats after this position, newest first.
    Chats(Option<Cursor>),
    /// The rollups of chats after this id, ordered by id: each must have a chat.
    ChatRollups(Option<ChatId>),
    /// The hours from this one on.
    Hours(DateTime<Utc>),
    /// The totals of the users after this one, ordered by id.
    Users(Option<UserId>),
    /// The other totals.
    Totals,
    Done,
}

impl MongoStore {
    /// Lists the workflows that have records or rollups, in one app or in all.
    pub async fn counted_workflows(
        &self,
        app_id: Option<&AppId>,
    ) -> Result<Vec<Workflow>, StoreError> {
        let mut apps = BTreeSet::new();
        match app_id {
            Some(app_id) => drop(apps.insert(app_id.as_str().to_owned())),
            None => {
                for (collection, prefix) in self.counted() {
                    let field = format!("{prefix}app_id");
                    apps.extend(self.names(collection, &field, Document::new()).await?);
                }
            }
        }
        let mut workflows = BTreeSet::new();
        for app in &apps {
            let Ok(app_id) = AppId::parse(app.as_str()) else { continue };
            for (collection, prefix) in self.counted() {
                let field = format!("{prefix}workflow_name");
                let of_app = doc! { format!("{prefix}app_id"): app };
                for name in self.names(collection, &field, of_app).await? {
                    let Ok(workflow_name) = WorkflowName::try_from(name) else { continue };
                    workflows.insert(Workflow { app_id: app_id.clone(), workflow_name });
                }
            }
        }
        Ok(workflows.into_iter().collect())
    }

    /// Returns the approximate number of records that a verification of everything reads.
    pub async fn count_records(&self) -> Result<u64, StoreError> {
        self.read(|| async {
            let mut records = 0;
            for (collection, times) in self.summed() {
                records += collection.estimated_document_count().await? * times;
            }
            Ok(records)
        })
        .await
    }

    /// Finds the rollups of a workflow that differ from the sums of their records.
    ///
    /// It takes as long as it needs while writers continue, and resumes after a failure where it
    /// was. It calls `read` for every record that it reads, and `found` for every difference.
    pub async fn verify_stats(
        &self,
        workflow: &Workflow,
        read: &(dyn Fn() + Sync),
        found: &mut (dyn FnMut(StatsDifference) + Send),
    ) -> Result<(), StoreError> {
        let proof = Mutex::new(Verification::new(self, workflow, read));
        while Verification::step(&proof).await? {
            let mut proof = proof.lock().await;
            for difference in std::mem::take(&mut proof.found) {
                proof.note(&difference);
                found(difference);
            }
        }
        Ok(())
    }

    /// Adds to the rollups of a workflow what is missing, and passes each difference to `found`.
    ///
    /// Repeat it until nothing is found: after an error it is unknown how much was added.
    pub async fn rebuild_stats(
        &self,
        workflow: &Workflow,
        read: &(dyn Fn() + Sync),
        found: &mut (dyn FnMut(StatsDifference) + Send),
    ) -> Result<(), StoreError> {
        let proof = Mutex::new(Verification::new(self, workflow, read));
        while Verification::step(&proof).await? {
            let differences = std::mem::take(&mut proof.lock().await.found);
            for difference in differences {
                self.correct(workflow, &difference).await?;
                found(difference);
            }
        }
        Ok(())
    }

    async fn correct(
        &self,
        workflow: &Workflow,
        difference: &StatsDifference,
    ) -> Result<(), StoreError> {
        let StatsDifference { key, kept, expected, missing_start, wrong_user } = difference;
        let mut change = expected.clone();
        change.merge(kept, -1);
        let mut update = rollup_update(&key.subject, &change, self.inner.clock.now(), None);
        if let Some(started_at) = missing_start {
            update.insert("$set", doc! { "started_at": BsonTime::from_chrono(*started_at) });
        }
        let id = rollup_id(&workflow.app_id, &workflow.workflow_name, key, 0);
        let added = self.inner.workflow_stats.update_one(doc! { "_id": id }, update);
        // Not retried, because a retry could not detect whether the amount was added already.
        added.upsert(true).await.map_err(|e| StoreError::OutcomeUnknown { source: e.into() })?;
        if let (Subject::Chat(chat_id), Some([from, to])) = (&key.subject, wrong_user.clone()) {
            let (workflow, chat_id) = (workflow.clone(), chat_id.clone());
            self.hand_over(Handover { workflow, chat_id, from, to }).await?;
        }
        Ok(())
    }

    /// Returns the collections with workflow names, and the prefix of those fields.
    fn counted(&self) -> [(&Collection<RawDocumentBuf>, &'static str); 2] {
        [(&self.inner.chat_sessions, ""), (&self.inner.workflow_stats, "_id.")]
    }

    /// Returns the collections of the counted records, and how often a verification reads each
    /// record: once for its chat, and once for its hour.
    fn summed(&self) -> [(&Collection<RawDocumentBuf>, u64); 3] {
        [
            (&self.inner.chat_sessions, 2),
            (&self.inner.status_changes, 1),
            (&self.inner.provider_calls, 2),
        ]
    }

    async fn names(
        &self,
        collection: &Collection<RawDocumentBuf>,
        field: &str,
        query: Document,
    ) -> Result<Vec<String>, StoreError> {
        self.read(|| super::names_in(collection, field, query.clone())).await
    }
}

impl<'a> Verification<'a> {
    fn new(store: &'a MongoStore, workflow: &'a Workflow, read: &'a (dyn Fn() + Sync)) -> Self {
        Self {
            store,
            workflow,
            read,
            position: Position::Chats(None),
            found: Vec::new(),
            off_in_hours: BTreeMap::new(),
            off_in_chats: HashMap::new(),
            without_status_change: BTreeMap::new(),
        }
    }

    /// Compares for as long as one snapshot is used. Returns whether anything was left to do.
    ///
    /// An attempt that fails has moved the position past everything that it compared. The next
    /// attempt continues there with a new snapshot.
    async fn step(proof: &Mutex<Self>) -> Result<bool, StoreError> {
        let (store, is_done) = {
            let proof = proof.lock().await;
            (proof.store, proof.position == Position::Done)
        };
        if is_done {
            return Ok(false);
        }
        let compare = || async { proof.lock().await.compare().await };
        store.read_until(Instant::now() + MAX_STEP, compare).await?;
        Ok(true)
    }

    async fn compare(&mut self) -> Result<(), Failure> {
        let mut snapshot = Snapshot::take(self.store).await?;
        let until = Instant::now() + self.store.inner.proof_snapshot;
        loop {
            match self.position.clone() {
                Position::Chats(after) => self.compare_chats(after, &mut snapshot).await?,
                Position::ChatRollups(after) => {
                    self.compare_chat_rollups(after, &mut snapshot).await?;
                }
                Position::Hours(from) => self.compare_hours(from, until, &mut snapshot).await?,
                Position::Users(after) => self.compare_users(after, &mut snapshot).await?,
                Position::Totals => {
                    // The totals must be read from one snapshot, so they get a new one with its
                    // whole lifetime.
                    snapshot = Snapshot::take(self.store).await?;
                    self.compare_totals(&mut snapshot).await?;
                }
                Position::Done => return Ok(()),
            }
            // The comparisons of totals need the differences found before.
            let is_full = self.found.len() >= MAX_FOUND
                || matches!(self.position, Position::Users(None) | Position::Totals);
            if is_full || Instant::now() >= until {
                return Ok(());
            }
        }
    }

    fn report(&mut self, key: RollupKey, kept: Rollup, expected: Rollup, off: ChatOff) {
        let ChatOff { missing_start, wrong_user } = off;
        if kept != expected || missing_start.is_some() || wrong_user.is_some() {
            self.found.push(StatsDifference { key, kept, expected, missing_start, wrong_user });
        }
    }

    /// Remembers the error of a rollup, for the totals that contain it.
    fn note(&mut self, difference: &StatsDifference) {
        let StatsDifference { key, kept, expected, .. } = difference;
        let mut off = kept.clone();
        off.merge(expected, -1);
        match &key.subject {
            Subject::Chat(_) if off.is_zero() => {}
            Subject::Chat(chat_id) => drop(self.off_in_chats.insert(chat_id.clone(), off)),
            subject if key.hour.is_some() => {
                self.off_in_hours.entry(subject.clone()).or_default().merge(&off, 1);
            }
            _ => {}
        }
    }

    /// Returns a filter for records of the workflow.
    fn records(&self) -> Document {
        let Workflow { app_id, workflow_name } = self.workflow;
        doc! { "app_id": app_id.as_str(), "workflow_name": workflow_name.as_str() }
    }

    /// Returns a filter for the rollups of a kind after a name, all hours of it included, by a range of their ids.
    fn rollups_after(&self, kind: &str, after: Option<&str>) -> Document {
        let Workflow { app_id, workflow_name } = self.workflow;
        let id = |name: Bson, hour: Bson| {
            doc! {
                "app_id": app_id.as_str(),
                "workflow_name": workflow_name.as_str(),
                "kind": kind,
                "name": name,
                "hour": hour,
            }
        };
        let from = after.unwrap_or("");
        let range =
            doc! { "$gt": id(from.into(), Bson::MaxKey), "$lt": id(Bson::MaxKey, Bson::MinKey) };
        doc! { "_id": range }
    }

    /// Returns whether the calls of every chat must count for its owner: the upgrade is finished.
    async fn counts_for_owners(&self) -> Result<bool, Failure> {
        self.store.writes(Shape::CompleteUserUsage).await
    }
}

/// Returns the index of the sessions of a workflow by creation.
fn chats_of_workflow() -> Hint {
    session_index("cs_app_workflow_created")
}
