use persistence::{ToolStats, ToolUsage};
use records::{JsonObject, ToolRun, ToolSums};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Time, quotient};

/// A run of a tool.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolRun)]
pub(crate) struct ToolRunFields {
    #[schema(example = "run_0198d4b2")]
    run_id: String,
    #[schema(example = "WebSearch")]
    tool_name: String,
    /// The agent that used the tool.
    #[schema(example = "researcher")]
    agent: Option<String>,
    /// The id of the tool call of a message that the run answers.
    #[schema(example = "call_7f3a")]
    tool_call_id: Option<String>,
    /// What the tool was given.
    parameters: Value,
    /// What the tool returned.
    result: Value,
    is_success: bool,
    /// Why the tool failed.
    error: Option<String>,
    /// The duration, in milliseconds; null if it was not measured.
    #[schema(example = 250)]
    execution_time_ms: Option<u64>,
    #[schema(value_type = Object)]
    metadata: JsonObject,
    /// When the run began.
    started_at: Time,
    /// When the run was recorded.
    recorded_at: Time,
}

impl From<ToolRun> for ToolRunFields {
    fn from(run: ToolRun) -> Self {
        Self {
            run_id: run.run_id.into(),
            tool_name: run.tool_name,
            agent: run.agent,
            tool_call_id: run.tool_call_id,
            parameters: run.parameters,
            result: run.result,
            is_success: run.is_success,
            error: run.error,
            execution_time_ms: run.execution_time_ms,
            metadata: run.metadata,
            started_at: run.started_at.into(),
            recorded_at: run.recorded_at.into(),
        }
    }
}

/// The sums of runs of tools.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolStats)]
pub(crate) struct ToolStatsFields {
    /// All runs.
    total: ToolSumsFields,
    /// The 1,000 tools with the most runs, those first.
    tools: Vec<ToolUsageFields>,
    /// The number of tools that are not listed.
    other_tools: u64,
}

/// The sums of the runs of one tool.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolUsage)]
struct ToolUsageFields {
    #[schema(example = "WebSearch")]
    tool_name: String,
    #[serde(flatten)]
    sums: ToolSumsFields,
    /// When the last of the runs began.
    last_started_at: Time,
}

/// Sums.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolSums)]
pub(crate) struct ToolSumsFields {
    #[schema(example = 12)]
    pub(crate) runs: u64,
    #[schema(example = 11)]
    pub(crate) succeeded: u64,
    #[schema(example = 1)]
    pub(crate) failed: u64,
    /// The share of runs that succeeded; null without runs.
    #[schema(example = 0.916)]
    success_rate: Option<f64>,
    /// The sum of the durations that are known, in milliseconds.
    #[schema(example = 3000)]
    execution_time_ms: u64,
    /// Their average; null if none is known.
    #[schema(example = 250.0)]
    pub(crate) average_ms: Option<f64>,
    /// The longest of them; null if none is known.
    #[schema(example = 900)]
    longest_ms: Option<u64>,
}

impl From<ToolSums> for ToolSumsFields {
    fn from(sums: ToolSums) -> Self {
        let ToolSums { runs, failed, timed, execution_time_ms, longest_ms } = sums;
        let share = |part: u64, of: u64| {
            quotient(i64::try_from(part).unwrap_or(i64::MAX), i64::try_from(of).unwrap_or(i64::MAX))
        };
        let succeeded = runs - failed;
        Self {
            runs,
            succeeded,
            failed,
            success_rate: share(succeeded, runs),
            execution_time_ms,
            average_ms: share(execution_time_ms, timed),
            longest_ms: (timed > 0).then_some(longest_ms),
        }
    }
}

impl From<ToolStats> for ToolStatsFields {
    fn from(ToolStats { total, tools, others }: ToolStats) -> Self {
        let tools = tools.into_iter().map(|ToolUsage { tool_name, sums, last_started_at }| {
            ToolUsageFields {
                tool_name,
                sums: sums.into(),
                last_started_at: last_started_at.into(),
            }
        });
        Self { total: total.into(), tools: tools.collect(), other_tools: others }
    }
}
