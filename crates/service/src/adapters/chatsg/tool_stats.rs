use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, ToolUsage};
use records::ToolSums;
use serde::Serialize;
use utoipa::ToSchema;

use crate::adapters::ForeignQuery;
use crate::api::tool_runs::stats::BeganQuery;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json};
use crate::problem::Problem;
use crate::wire::ToolSumsFields;

/// The sums of the tool log.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionToolSums)]
struct ToolSumsItem {
    #[schema(example = 12)]
    total: u64,
    #[schema(example = 11)]
    success: u64,
    #[schema(example = 1)]
    failed: u64,
    /// In milliseconds; null if no duration is known.
    #[serde(rename = "averageExecutionTime")]
    #[schema(example = 250.0)]
    average_execution_time: Option<f64>,
}

impl From<ToolSums> for ToolSumsItem {
    fn from(sums: ToolSums) -> Self {
        let ToolSumsFields { runs, succeeded, failed, average_ms, .. } = sums.into();
        Self { total: runs, success: succeeded, failed, average_execution_time: average_ms }
    }
}

/// The sums of the tool log of a session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionToolStats)]
pub(crate) struct SessionToolStatsResponse {
    #[serde(rename = "sessionId")]
    #[schema(example = "session_abc123")]
    session_id: String,
    #[serde(flatten)]
    #[schema(inline)]
    all: ToolSumsItem,
    /// The sums of each tool; of at most 1,000 tools.
    #[serde(rename = "byTool")]
    by_tool: BTreeMap<String, ToolSumsItem>,
}

/// Sums up the runs of the tools of a session, as far as they are still kept.
#[operation(answers = "The sums")]
pub(crate) async fn get_session_tool_stats(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    ForeignQuery(query): ForeignQuery<BeganQuery>,
) -> Result<Json<SessionToolStatsResponse>, Problem> {
    let stats = store.chat_tool_stats(&scope, &chat_id, &query.into()).await?;
    let by_tool = stats.tools.into_iter();
    let by_tool = by_tool.map(|ToolUsage { tool_name, sums, .. }| (tool_name, sums.into()));
    Ok(Json(SessionToolStatsResponse {
        session_id: chat_id.into(),
        all: stats.total.into(),
        by_tool: by_tool.collect(),
    }))
}
