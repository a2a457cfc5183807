use std::sync::Arc;

use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use operation::operation;
use persistence::{Outcome, RecordedToolRun, Store};
use records::json::ListLimit;
use records::{JsonObject, Limits, NewToolRun, ToolRunId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::extract::needs::Run;
use crate::extract::{BatchShape, ChatScope, IdempotencyKey, Json, Keyed, LimitedLists, Query};
use crate::openapi::values;
use crate::operation::{Description, Input};
use crate::problem::Problem;
use crate::state::AppState;
use crate::wire::{self, Time, ToolRunFields};

/// A run of a tool to record.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewToolRun, example = json!({
    "run_id": "run_0198d4b2",
    "tool_name": "WebSearch",
    "agent": "researcher",
    "parameters": {"query": "todo apps"},
    "result": {"hits": 3},
    "execution_time_ms": 250
}))]
pub(crate) struct ToolRunRequest {
    /// The idempotency key of the run; minted if missing.
    #[schema(value_type = Option<values::Name>)]
    run_id: Option<ToolRunId>,
    /// The tool.
    #[schema(value_type = values::Name)]
    tool_name: String,
    /// The agent that used the tool.
    #[schema(value_type = Option<values::Name>)]
    agent: Option<String>,
    /// The id of the tool call of a message that the run answers.
    #[schema(value_type = Option<values::Name>)]
    tool_call_id: Option<String>,
    /// What the tool was given, at most 256 KiB.
    #[serde(default)]
    parameters: Value,
    /// What the tool returned, at most 256 KiB.
    #[serde(default)]
    result: Value,
    /// Whether the tool succeeded; by default whether it has no `error`.
    is_success: Option<bool>,
    /// Why the tool failed, at most 16 KiB.
    error: Option<String>,
    /// The duration, in milliseconds.
    #[schema(maximum = 1_000_000_000)]
    execution_time_ms: Option<u64>,
    /// Any data about the run, at most 16 KiB.
    #[serde(default)]
    #[schema(value_type = Object)]
    metadata: JsonObject,
    /// When the run began; the time of recording if missing.
    started_at: Option<Time>,
}

impl Keyed for ToolRunRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("run_id", &mut self.run_id)
    }
}

impl From<ToolRunRequest> for NewToolRun {
    fn from(request: ToolRunRequest) -> Self {
        Self {
            run_id: request.run_id,
            tool_name: request.tool_name,
            agent: request.agent,
            tool_call_id: request.tool_call_id,
            parameters: request.parameters,
            result: request.result,
            is_success: request.is_success.unwrap_or(request.error.is_none()),
            error: request.error,
            execution_time_ms: request.execution_time_ms,
            metadata: request.metadata,
            started_at: request.started_at.map(|time| time.0),
        }
    }
}

/// Several runs of tools to record atomically.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewToolRuns)]
pub(crate) struct ToolRunsRequest {
    /// 1 to 1,000 runs, of 8 MiB together.
    #[schema(min_items = 1, max_items = 1000)]
    runs: Vec<ToolRunRequest>,
}

impl LimitedLists for ToolRunsRequest {
    const LISTS: &'static [ListLimit] =
        &[ListLimit { field: "runs", items: Limits::BATCH_TOOL_RUNS }];
}

impl From<ToolRunsRequest> for Vec<ToolRunRequest> {
    fn from(several: ToolRunsRequest) -> Self {
        several.runs
    }
}

/// One run, or several in `runs`.
#[derive(Debug, ToSchema)]
#[schema(as = OneOrSeveralNewToolRuns)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the two shapes that `ToolRunsBody` reads")]
enum OneOrSeveralToolRuns {
    One(Box<ToolRunRequest>),
    Several(ToolRunsRequest),
}

/// The runs of a body.
#[derive(Debug)]
pub(crate) struct ToolRunsBody {
    runs: Vec<NewToolRun>,
    shape: BatchShape,
}

impl FromRequest<AppState> for ToolRunsBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (shape, runs) =
            BatchShape::read::<ToolRunRequest, ToolRunsRequest>(request, state).await?;
        Ok(Self { runs: runs.into_iter().map(Into::into).collect(), shape })
    }
}

impl Input for ToolRunsBody {
    fn describe(description: &mut Description) {
        description.json_body::<OneOrSeveralToolRuns>();
    }
}

/// The recorded runs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecordToolRunsResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// In the order of the request.
    runs: Vec<RecordedToolRunFields>,
}

/// A run, and whether it was recorded before.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RecordedToolRun)]
struct RecordedToolRunFields {
    #[serde(flatten)]
    run: ToolRunFields,
    /// Whether the run was recorded before.
    duplicate: bool,
}

impl From<RecordedToolRun> for RecordedToolRunFields {
    fn from(RecordedToolRun { run, outcome }: RecordedToolRun) -> Self {
        Self { run: run.into(), duplicate: outcome == Outcome::Duplicate }
    }
}

/// Records runs of tools, all of them or none.
///
/// A `run_id` is an idempotency key: a repeated run is returned with `"duplicate": true`. Runs can also be recorded in a chat
/// that has ended, and without its lease. They are kept for `apps.tool_run_days` after they were recorded.
#[operation(
    answers = "At least one run is new",
    repeated = "All runs were recorded before",
    problems = [TOOL_RUN_CONFLICT, TOOL_RUN_TOO_LARGE, METADATA_TOO_LARGE, BATCH_TOO_LARGE, UPGRADE_PENDING],
)]
pub(crate) async fn record_tool_runs(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    Query(()): Query<()>,
    ToolRunsBody { runs, shape }: ToolRunsBody,
) -> Result<(StatusCode, Json<RecordToolRunsResponse>), Problem> {
    let recorded = store.record_tool_runs(&scope, &chat_id, runs).await;
    let recorded = recorded.map_err(|error| shape.problem(error))?;
    let status = wire::write_status(recorded.iter().map(|recorded| recorded.outcome));
    let runs = recorded.into_iter().map(Into::into).collect();
    Ok((status, Json(RecordToolRunsResponse { chat_id: chat_id.into(), runs })))
}
