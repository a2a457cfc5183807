//! The runs of tools: documents of their own, which nothing in the session refers to.

mod document;
mod removal;
mod sums;

pub(crate) use document::{ToolRunDocument, tool_run_record};

use async_trait::async_trait;
use bson::{Bson, DateTime as BsonTime, Document, doc};
use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use mongodb::action::{Action as _, Find};
use records::{AppId, ChatId, NewToolRun, Scope};

use self::document::{read_tool_run, tool_run_key};
use crate::StoreError;
use crate::metrics::{Call, RetentionAction};
use crate::mongo::MongoStore;
use crate::mongo::collections::tool_run_index;
use crate::mongo::documents::{encode, open_chat_session};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::hinted::hinted;
use crate::mongo::engine::paging::{beyond, limit_and_one};
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::tool_run_batch::{DigestedRun, ToolRunBatch};
use crate::store::{
    Began, Direction, DueToolRuns, RecordedCursor, RecordedToolRun, ToolRunCursor, ToolRunFilter,
    ToolRunPage, ToolRuns, ToolStats,
};

#[async_trait]
impl ToolRuns for MongoStore {
    async fn record_tool_runs(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        runs: Vec<NewToolRun>,
    ) -> Result<Vec<RecordedToolRun>, StoreError> {
        self.observe(Call::RecordToolRuns, Some(chat_id), async {
            let batch = ToolRunBatch::check(runs, self.inner.clock.now(), &*self.inner.ids)?;
            let recording_id = self.inner.ids.mint("recording_");
            // A run is recorded also by a worker that has lost its lease.
            let (scope, chat_id) = (scope.unfenced(), chat_id.clone());
            self.write(|call| async move {
                let round =
                    |tx| call.record_runs_round(tx, &scope, &chat_id, &batch, &recording_id);
                call.transact(&scope, &chat_id, round).await
            })
            .await
        })
        .await
    }

    async fn list_tool_runs(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ToolRunFilter,
        limit: usize,
        after: Option<&ToolRunCursor>,
    ) -> Result<ToolRunPage, StoreError> {
        self.observe(Call::ListToolRuns, Some(chat_id), async {
            let page = || self.tool_runs_page(scope, chat_id, filter, limit, after);
            self.read(page).await
        })
        .await
    }

    async fn chat_tool_stats(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        began: &Began,
    ) -> Result<ToolStats, StoreError> {
        self.observe(Call::ChatToolStats, Some(chat_id), async {
            let mut runs = runs_of_chat(&scope.app_id, chat_id);
            runs.extend(began_filter(began));
            let sum = || async {
                self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
                self.sum_tool_runs(&runs, "run_app_chat_started").await
            };
            self.read(sum).await
        })
        .await
    }

    async fn app_tool_stats(&self, app_id: &AppId, began: &Began) -> Result<ToolStats, StoreError> {
        self.observe(Call::AppToolStats, None, async {
            let mut runs = doc! { "app_id": app_id.as_str() };
            runs.extend(began_filter(began));
            self.read(|| self.sum_tool_runs(&runs, "run_app_started")).await
        })
        .await
    }

    async fn remove_tool_runs(
        &self,
        app_id: &AppId,
        recorded_until: DateTime<Utc>,
        limit: usize,
        after: Option<&RecordedCursor>,
    ) -> Result<DueToolRuns, StoreError> {
        self.observe(Call::RemoveToolRuns, None, async {
            let (app_id, after) = (app_id.clone(), after.cloned());
            self.write(|call| async move {
                let remove = |_| call.remove_runs(&app_id, recorded_until, limit, after.as_ref());
                let removed = call.attempt(remove).await?;
                call.inner.metrics.retention.did(RetentionAction::RemoveToolRun, removed.count);
                Ok(removed)
            })
            .await
        })
        .await
    }

    async fn count_due_tool_runs(
        &self,
        app_id: &AppId,
        recorded_until: DateTime<Utc>,
        limit: usize,
        after: Option<&RecordedCursor>,
    ) -> Result<DueToolRuns, StoreError> {
        self.observe(Call::CountDueToolRuns, None, async {
            let due = || self.due_runs(app_id, recorded_until, limit, after);
            let (due, next) = self.read(due).await?;
            Ok(DueToolRuns { count: u64::try_from(due.len()).unwrap_or(u64::MAX), next })
        })
        .await
    }
}

fn runs_of_chat(app_id: &AppId, chat_id: &ChatId) -> Document {
    doc! { "app_id": app_id.as_str(), "_id.chat_id": chat_id.as_str() }
}

/// Returns the condition for the time at which runs began, if there is one.
fn began_filter(began: &Began) -> Document {
    let bounds = [("$gte", began.from), ("$lt", began.before)];
    let bounds = bounds.into_iter().filter_map(|(operator, time)| {
        Some((operator.to_owned(), Bson::from(BsonTime::from_chrono(time?))))
    });
    let bounds: Document = bounds.collect();
    if bounds.is_empty() {
        Document::new()
    } else {
        doc! { "started_at": bounds }
    }
}

impl MongoStore {
    async fn record_runs_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &ToolRunBatch,
        recording_id: &str,
    ) -> Result<Round<Vec<RecordedToolRun>>, Failure> {
        self.require(Shape::ToolRuns).await?;
        // A purge removes once more what calls under way have stored since, so the chat need not be part of the transaction.
        let session = self.session_within(scope, chat_id, doc! { "schema_version": 1 }).await?;
        open_chat_session(&session)?;
        let ids: Vec<_> = batch.run_ids().map(|run_id| tool_run_key(chat_id, run_id)).collect();
        let query = doc! { "_id": { "$in": ids }, "app_id": scope.app_id.as_str() };
        let found: Vec<_> = self.inner.tool_runs.find(query).await?.try_collect().await?;
        let mut known = Vec::with_capacity(found.len());
        for raw in &found {
            let (kept, recorded_by) = read_tool_run(raw)?;
            if recorded_by != recording_id {
                known.push(kept);
            }
        }
        // An earlier attempt has recorded all that are new, or none.
        let is_recorded = known.len() < found.len();
        if !is_recorded {
            tx.attempt().note_nothing_applied();
        }
        let (fresh, recorded) = batch.plan(chat_id, &known)?;
        if !is_recorded && !fresh.is_empty() {
            tx.begin().await?;
            self.insert_runs(&tx, scope, chat_id, &fresh, recording_id).await?;
        }
        Ok(Round::Done(recorded))
    }

    async fn insert_runs(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        runs: &[&DigestedRun],
        recording_id: &str,
    ) -> Result<(), Failure> {
        let documents = runs
            .iter()
            .map(|kept| encode(&ToolRunDocument::new(&scope.app_id, chat_id, kept, recording_id)));
        let documents = documents.collect::<Result<Vec<_>, _>>()?;
        let insert = self.inner.tool_runs.insert_many(documents);
        insert.session(&mut *tx.session().await?).await?;
        Ok(())
    }

    async fn tool_runs_page(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ToolRunFilter,
        limit: usize,
        after: Option<&ToolRunCursor>,
    ) -> Result<ToolRunPage, Failure> {
        self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
        let mut query = runs_of_chat(&scope.app_id, chat_id);
        query.extend(began_filter(&filter.began));
        query.extend(
            filter.tool_name.as_ref().map(|name| ("tool_name".to_owned(), name.as_str().into())),
        );
        query.extend(
            filter.is_success.map(|is_success| ("is_success".to_owned(), is_success.into())),
        );
        if let Some(ToolRunCursor { started_at, run_id }) = after {
            let at = BsonTime::from_chrono(*started_at).into();
            let position = [("started_at", at), ("_id.run_id", run_id.as_str().into())];
            query.insert("$and", beyond(filter.direction, position).to_vec());
        }
        let direction = match filter.direction {
            Direction::Ascending => 1,
            Direction::Descending => -1,
        };
        let sort = doc! { "started_at": direction, "_id.run_id": direction };
        let found = hinted(tool_run_index("run_app_chat_started"), |hint| async {
            let find = self.inner.tool_runs.find(query.clone()).sort(sort.clone());
            Ok(find.limit(limit_and_one(limit)).optional(hint, Find::hint).await?)
        });
        let (mut found, mut page) = (found.await?, ToolRunPage::default());
        while let Some(raw) = found.try_next().await? {
            if !page.add(tool_run_record(&raw)?, limit) {
                break;
            }
        }
        Ok(page)
    }
}
