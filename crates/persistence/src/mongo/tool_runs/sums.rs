//! Sums up runs of tools, in the database: an index has everything that is summed up.

use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::action::{Action as _, Aggregate};
use records::ToolSums;
use serde::Deserialize;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::TOOL_RUNS;
use crate::mongo::collections::tool_run_index;
use crate::mongo::documents::stored::read_fields;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::hinted;
use crate::store::{ToolStats, ToolUsage};

/// The sums of a tool, as the pipeline returns them.
#[derive(Debug, Deserialize)]
struct Sums {
    #[serde(rename = "_id")]
    tool_name: String,
    runs: u64,
    failed: u64,
    timed: u64,
    execution_time_ms: u64,
    longest_ms: Option<u64>,
    last_started_at: DateTime,
}

impl From<Sums> for ToolUsage {
    fn from(found: Sums) -> Self {
        let Sums { runs, failed, timed, execution_time_ms, longest_ms, .. } = found;
        let longest_ms = longest_ms.unwrap_or_default();
        Self {
            tool_name: found.tool_name,
            sums: ToolSums { runs, failed, timed, execution_time_ms, longest_ms },
            last_started_at: found.last_started_at.to_chrono(),
        }
    }
}

impl MongoStore {
    /// Sums up the runs that match, by tool. The index has all fields that the pipeline reads.
    pub(super) async fn sum_tool_runs(
        &self,
        runs: &Document,
        index: &str,
    ) -> Result<ToolStats, Failure> {
        let found = hinted(tool_run_index(index), |hint| async {
            let sums = self.inner.tool_runs.aggregate(pipeline(runs));
            let sums = sums.optional(hint, Aggregate::hint).with_type::<RawDocumentBuf>();
            Ok(sums.await?)
        });
        let (mut found, mut stats) = (found.await?, ToolStats::default());
        while let Some(raw) = found.try_next().await? {
            stats.add(tool_usage(&raw)?);
        }
        Ok(stats)
    }
}

fn pipeline(runs: &Document) -> [Document; 3] {
    let is_timed = doc! { "$gt": ["$execution_time_ms", Bson::Null] };
    let sums = doc! {
        "_id": "$tool_name",
        "runs": { "$sum": 1_i64 },
        "failed": { "$sum": { "$cond": ["$is_success", 0_i64, 1_i64] } },
        "timed": { "$sum": { "$cond": [is_timed, 1_i64, 0_i64] } },
        "execution_time_ms": { "$sum": "$execution_time_ms" },
        "longest_ms": { "$max": "$execution_time_ms" },
        "last_started_at": { "$max": "$started_at" },
    };
    let order = doc! { "runs": -1, "_id": 1 };
    [doc! { "$match": runs }, doc! { "$group": sums }, doc! { "$sort": order }]
}

/// Reads the sums of a tool.
fn tool_usage(raw: &RawDocument) -> Result<ToolUsage, StoreError> {
    let sums: Result<Sums, _> = read_fields(raw);
    let sums = sums.map_err(|e| e.within(TOOL_RUNS, "(the sums of a tool)".to_owned()))?;
    Ok(sums.into())
}
