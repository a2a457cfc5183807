//! Proves that rollups are what their records add up to, and mends those that are not.
//!
//! Records and rollups are read as they were at one moment, so writers may go on meanwhile. What is
//! missing from a rollup is added to it, as writers add what they do: it makes no difference which
//! of them comes first.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bson::{Bson, DateTime as BsonTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime, Utc};
use mongodb::options::{ReadConcern, SessionOptions};
use mongodb::{ClientSession, Collection};
use records::{
    AppId, ChatId, Counter, Measure, Rollup, RollupKey, Subject, Tally, Usage, WorkflowName,
};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    StoredRollup, WITHOUT_BULK, call_record, chat_session_record, open_call, rollup_id,
    rollup_update, status_change_record,
};
use crate::mongo::engine::failure::Failure;

/// A workflow, and the app it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workflow {
    /// The app.
    pub app_id: AppId,
    /// The workflow.
    pub workflow_name: WorkflowName,
}

/// A rollup that is not what its records add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsDifference {
    /// What it counts.
    pub key: RollupKey,
    /// What it is.
    pub kept: Rollup,
    /// What it should be.
    pub expected: Rollup,
    /// When the chat was created that it counts, if it does not say so.
    pub missing_start: Option<DateTime<Utc>>,
}

/// A rollup, and for that of a chat when the chat was created.
type Started = (Rollup, Option<DateTime<Utc>>);

impl MongoStore {
    /// Lists the workflows that have records or rollups: those of one app, or all.
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
                    let Ok(workflow_name) = WorkflowName::parse(name) else { continue };
                    workflows.insert(Workflow { app_id: app_id.clone(), workflow_name });
                }
            }
        }
        Ok(workflows.into_iter().collect())
    }

    /// Returns how many records there are to be read for a proof of everything, more or less.
    pub async fn count_records(&self) -> Result<u64, StoreError> {
        self.read(|| async {
            let mut records = 0;
            for collection in self.summed() {
                records += collection.estimated_document_count().await?;
            }
            Ok(records)
        })
        .await
    }

    /// Finds the rollups of a workflow that are not what its records add up to.
    ///
    /// `read` is told of every record that was read.
    pub async fn verify_stats(
        &self,
        workflow: &Workflow,
        read: &(dyn Fn() + Sync),
    ) -> Result<Vec<StatsDifference>, StoreError> {
        self.read(|| self.differences(workflow, read)).await
    }

    /// Adds to the rollups of a workflow what they lack; returns what that was.
    ///
    /// To be repeated until nothing is found: who is told of an error does not know how far it came.
    pub async fn rebuild_stats(
        &self,
        workflow: &Workflow,
        read: &(dyn Fn() + Sync),
    ) -> Result<Vec<StatsDifference>, StoreError> {
        let differences = self.verify_stats(workflow, read).await?;
        for difference in &differences {
            let StatsDifference { key, kept, expected, missing_start } = difference;
            let mut change = expected.clone();
            change.merge(kept, -1);
            let mut update = rollup_update(&change, self.inner.clock.now(), None);
            if let Some(started_at) = missing_start {
                update.insert("$set", doc! { "started_at": BsonTime::from_chrono(*started_at) });
            }
            let id = rollup_id(&workflow.app_id, &workflow.workflow_name, key, 0);
            let added = self.inner.workflow_stats.update_one(doc! { "_id": id }, update);
            // Not tried again by us: nobody could tell whether it was added already.
            added
                .upsert(true)
                .await
                .map_err(|e| StoreError::OutcomeUnknown { source: e.into() })?;
        }
        Ok(differences)
    }

    async fn differences(
        &self,
        workflow: &Workflow,
        read: &(dyn Fn() + Sync),
    ) -> Result<Vec<StatsDifference>, Failure> {
        // The session holds the moment; the concern is told each time, or the client's would prevail.
        let moment = SessionOptions::builder().snapshot(true).build();
        let mut session = self.inner.database.client().start_session().with_options(moment).await?;
        let mut kept = self.kept(workflow, &mut session).await?;
        let expected = self.expected(workflow, &mut session, read).await?;
        let mut differences = Vec::new();
        for (key, (expected, started_at)) in expected {
            let (kept, kept_start) = kept.remove(&key).unwrap_or_default();
            let missing_start = started_at.filter(|_| kept_start != started_at);
            if kept != expected || missing_start.is_some() {
                differences.push(StatsDifference { key, kept, expected, missing_start });
            }
        }
        // What is left counts something that there is no record of.
        for (key, (kept, _)) in kept.into_iter().filter(|(_, (kept, _))| !kept.is_zero()) {
            let expected = Rollup::default();
            differences.push(StatsDifference { key, kept, expected, missing_start: None });
        }
        Ok(differences)
    }

    async fn kept(
        &self,
        workflow: &Workflow,
        session: &mut ClientSession,
    ) -> Result<BTreeMap<RollupKey, Started>, Failure> {
        let Workflow { app_id, workflow_name } = workflow;
        let query = doc! {
            "_id.app_id": app_id.as_str(),
            "_id.workflow_name": workflow_name.as_str(),
        };
        let mut kept: BTreeMap<RollupKey, Started> = BTreeMap::new();
        let find = self.inner.workflow_stats.find(query).read_concern(ReadConcern::snapshot());
        let mut found = find.session(&mut *session).await?;
        while let Some(raw) = found.next(session).await {
            let raw = raw?;
            let stored = StoredRollup::read(&raw)?;
            let (rollup, started_at) = kept.entry(stored.key.clone()).or_default();
            stored.add_to(rollup)?;
            *started_at = started_at.or(stored.started_at);
        }
        Ok(kept)
    }

    async fn expected(
        &self,
        workflow: &Workflow,
        session: &mut ClientSession,
        read: &(dyn Fn() + Sync),
    ) -> Result<BTreeMap<RollupKey, Started>, Failure> {
        let Workflow { app_id, workflow_name } = workflow;
        let query = doc! { "app_id": app_id.as_str(), "workflow_name": workflow_name.as_str() };
        let mut tally = Tally::default();
        let mut starts = BTreeMap::new();

        let bulk = WITHOUT_BULK.map(|field| (field.to_owned(), Bson::Int32(0)));
        let find =
            self.inner.chat_sessions.find(query.clone()).projection(Document::from_iter(bulk));
        let find = find.read_concern(ReadConcern::snapshot());
        let mut chats = find.session(&mut *session).await?;
        while let Some(raw) = chats.next(session).await {
            let chat = chat_session_record(&raw?)?;
            tally.chat(&chat, 1);
            starts.insert(chat.chat_id, chat.created_at);
            read();
        }
        let find = self.inner.status_changes.find(query.clone());
        let find = find.read_concern(ReadConcern::snapshot());
        let mut changes = find.session(&mut *session).await?;
        while let Some(raw) = changes.next(session).await {
            tally.status_change(&status_change_record(&raw?)?);
            read();
        }
        let mut usages: BTreeMap<ChatId, Usage> = BTreeMap::new();
        let find = self.inner.provider_calls.find(query).read_concern(ReadConcern::snapshot());
        let mut calls = find.session(&mut *session).await?;
        while let Some(raw) = calls.next(session).await {
            let raw = raw?;
            let (fields, call) = (open_call(&raw)?, call_record(&open_call(&raw)?)?.call);
            tally.call(&call, 1);
            let chat_id = fields.inside(fields.document("_id")?).parsed("chat_id")?;
            usages.entry(chat_id).or_default().add(&call);
            read();
        }
        for (chat_id, usage) in usages {
            tally.usage(&Usage::default(), &usage);
            tally.chat_usage(&chat_id, &usage);
        }
        let started = |(key, rollup): (RollupKey, Rollup)| {
            let started_at = match &key.subject {
                Subject::Chat(chat_id) => starts.get(chat_id).copied(),
                _ => None,
            };
            (key, (rollup, started_at))
        };
        Ok(tally.finish().into_iter().map(started).collect())
    }

    /// Returns the collections that name workflows, and what comes before the names of those fields.
    fn counted(&self) -> [(&Collection<RawDocumentBuf>, &'static str); 2] {
        [(&self.inner.chat_sessions, ""), (&self.inner.workflow_stats, "_id.")]
    }

    /// Returns the collections of what rollups add up.
    fn summed(&self) -> [&Collection<RawDocumentBuf>; 3] {
        [&self.inner.chat_sessions, &self.inner.status_changes, &self.inner.provider_calls]
    }

    async fn names(
        &self,
        collection: &Collection<RawDocumentBuf>,
        field: &str,
        query: Document,
    ) -> Result<Vec<String>, StoreError> {
        let distinct = || async { Ok(collection.distinct(field, query.clone()).await?) };
        let names = self.read(distinct).await?.into_iter();
        Ok(names.filter_map(|name| name.as_str().map(str::to_owned)).collect())
    }
}

impl fmt::Display for StatsDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key.subject {
            Subject::Workflow => f.write_str("all")?,
            Subject::Agent(agent) => write!(f, "agent {}", agent.as_deref().unwrap_or("-"))?,
            Subject::Model(model) => {
                write!(f, "model {}", model.model.as_deref().unwrap_or("-"))?;
            }
            Subject::Chat(chat_id) => write!(f, "{chat_id}")?,
        }
        if let Some(hour) = self.key.hour {
            write!(f, " at {}", hour.format("%Y-%m-%dT%H:%MZ"))?;
        }
        let mut separator = ": ";
        for counter in Counter::ALL {
            let (kept, expected) = (self.kept.get(counter), self.expected.get(counter));
            if kept != expected {
                write!(f, "{separator}{} is {kept}, not {expected}", counter.name())?;
                separator = "; ";
            }
        }
        for measure in Measure::ALL {
            let histograms = [&self.kept, &self.expected].map(|rollup| rollup.histogram(measure));
            if histograms[0] != histograms[1] {
                write!(f, "{separator}the histogram of {} is off", measure.name())?;
                separator = "; ";
            }
        }
        if self.missing_start.is_some() {
            write!(f, "{separator}its start is missing")?;
        }
        Ok(())
    }
}
