//! Removes, or counts, the runs of tools whose retention is over.

use std::collections::BTreeSet;

use bson::{Bson, DateTime as BsonTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use mongodb::options::Hint;
use records::{AppId, ChatId};
use serde::Deserialize;

use super::document::{ToolRunKey, tool_run_key};
use crate::mongo::MongoStore;
use crate::mongo::collection_names::{CHAT_SESSIONS, TOOL_RUNS};
use crate::mongo::collections::tool_run_index;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::stored::read_document;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::SortedFind;
use crate::mongo::engine::paging::{beyond, limit_and_one};
use crate::store::{Direction, DueToolRuns, RecordedCursor, cut};

/// What a removal reads of a run.
#[derive(Debug, Deserialize)]
struct RecordedRun {
    #[serde(rename = "_id")]
    id: ToolRunKey,
    recorded_at: BsonTime,
}

impl From<RecordedRun> for RecordedCursor {
    fn from(RecordedRun { id: ToolRunKey { chat_id, run_id }, recorded_at }: RecordedRun) -> Self {
        Self { recorded_at: recorded_at.to_chrono(), chat_id, run_id }
    }
}

impl MongoStore {
    /// Removes runs, except those of chats under hold. Safe to repeat.
    pub(super) async fn remove_runs(
        &self,
        app_id: &AppId,
        recorded_until: DateTime<Utc>,
        limit: usize,
        after: Option<&RecordedCursor>,
    ) -> Result<DueToolRuns, Failure> {
        let (due, next) = self.due_runs(app_id, recorded_until, limit, after).await?;
        let due = doc! { "_id": { "$in": due }, "app_id": app_id.as_str() };
        let count = self.inner.tool_runs.delete_many(due).await?.deleted_count;
        Ok(DueToolRuns { count, next })
    }

    /// Looks at up to `limit` runs. Returns the ids of those of chats that are not under hold, and the position of the next
    /// ones.
    pub(super) async fn due_runs(
        &self,
        app_id: &AppId,
        recorded_until: DateTime<Utc>,
        limit: usize,
        after: Option<&RecordedCursor>,
    ) -> Result<(Vec<Document>, Option<RecordedCursor>), Failure> {
        let recorded_until = BsonTime::from_chrono(recorded_until);
        let mut filter = doc! {
            "app_id": app_id.as_str(),
            "recorded_at": { "$lte": recorded_until },
        };
        if let Some(RecordedCursor { recorded_at, chat_id, run_id }) = after {
            let at = BsonTime::from_chrono(*recorded_at).into();
            let id = tool_run_key(chat_id, run_id).into();
            let position = [("recorded_at", at), ("_id", id)];
            filter.insert("$and", beyond(Direction::Ascending, position).to_vec());
        }
        let find = SortedFind {
            filter,
            sort: doc! { "recorded_at": 1, "_id": 1 },
            index: tool_run_index("run_app_recorded"),
            limit: usize::try_from(limit_and_one(limit)).unwrap_or(limit),
            projection: doc! { "recorded_at": 1, "schema_version": 1 },
        };
        let found = find.read(&self.inner.tool_runs).await?;
        let runs = found.iter().map(|raw| read_document::<RecordedRun>(TOOL_RUNS, raw));
        let runs = runs.map(|run| run.map(RecordedCursor::from));
        let mut runs: Vec<RecordedCursor> = runs.collect::<Result<_, _>>()?;
        let next = cut(&mut runs, limit).cloned();
        let held = self.held_among(app_id, runs.iter().map(|run| &run.chat_id).collect()).await?;
        let due = runs.iter().filter(|run| !held.contains(&run.chat_id));
        Ok((due.map(|run| tool_run_key(&run.chat_id, &run.run_id)).collect(), next))
    }

    /// Returns those of these chats that are under hold.
    async fn held_among(
        &self,
        app_id: &AppId,
        chats: BTreeSet<&ChatId>,
    ) -> Result<BTreeSet<ChatId>, Failure> {
        let chats: Vec<&str> = chats.into_iter().map(ChatId::as_str).collect();
        let held = doc! {
            "_id": { "$in": chats },
            "app_id": app_id.as_str(),
            "hold": { "$ne": Bson::Null },
        };
        let held = self.inner.chat_sessions.find(held).hint(Hint::Keys(doc! { "_id": 1 }));
        let held = held.projection(doc! { "_id": 1, "schema_version": 1 }).await?;
        let held: Vec<RawDocumentBuf> = held.try_collect().await?;
        let ids = held
            .iter()
            .map(|raw| Fields::open(CHAT_SESSIONS, "(a chat)", raw)?.parsed::<ChatId>("_id"));
        Ok(ids.collect::<Result<_, _>>()?)
    }
}
