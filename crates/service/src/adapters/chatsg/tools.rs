use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{ChatId, JsonObject, ToolRun};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::api::pages::Cursor as _;
use crate::api::tool_runs::list::{ListToolRunsQuery, PAGE_MIB};
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json};
use crate::problem::Problem;
use crate::wire::Time;

/// A run of a tool, as a line of the tool log has it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionTool)]
struct ToolItem {
    /// When the run began.
    timestamp: Time,
    #[serde(rename = "sessionId")]
    #[schema(example = "session_abc123")]
    session_id: String,
    #[serde(rename = "toolName")]
    #[schema(example = "WebSearch")]
    tool_name: String,
    parameters: Value,
    result: Value,
    success: bool,
    /// The duration, in milliseconds; null if it was not measured.
    #[serde(rename = "executionTime")]
    #[schema(example = 250)]
    execution_time: Option<u64>,
    error: Option<String>,
    /// What else is known about the run. Missing if nothing is.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    #[schema(value_type = Option<Object>)]
    metadata: JsonObject,
}

impl ToolItem {
    fn new(chat_id: &ChatId, run: ToolRun) -> Self {
        Self {
            timestamp: run.started_at.into(),
            session_id: chat_id.as_str().to_owned(),
            tool_name: run.tool_name,
            parameters: run.parameters,
            result: run.result,
            success: run.is_success,
            execution_time: run.execution_time_ms,
            error: run.error,
            metadata: run.metadata,
        }
    }
}

/// Runs of the tools of a session, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionTools)]
pub(crate) struct ListSessionToolsResponse {
    #[serde(rename = "sessionId")]
    #[schema(example = "session_abc123")]
    session_id: String,
    tools: Vec<ToolItem>,
    /// The `cursor` of the next page; null on the last page.
    #[serde(rename = "nextCursor")]
    next_cursor: Option<String>,
}

/// Lists the runs of the tools of a session, newest first.
#[operation(answers = "The runs")]
pub(crate) async fn list_session_tools(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    ForeignQuery(query): ForeignQuery<ListToolRunsQuery>,
    _: Reserve<PAGE_MIB>,
) -> Result<Json<ListSessionToolsResponse>, Problem> {
    let page = query.read(&*store, &scope, &chat_id).await?;
    let tools = page.runs.into_iter().map(|run| ToolItem::new(&chat_id, run)).collect();
    let next_cursor = page.next.map(|next| next.encode());
    Ok(Json(ListSessionToolsResponse { session_id: chat_id.into(), tools, next_cursor }))
}
