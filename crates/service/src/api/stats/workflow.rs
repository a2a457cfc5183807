use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{ChatStats, ChatStatsPage, Store, StoreError, WorkflowStats};
use records::{ChatStatus, Clock as _, Counter, Measure, MicroDollars, Model, Rollup, SystemClock};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::api::pages::Cursor as _;
use crate::extract::{Json, Query, WorkflowScope};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::{Percentiles, Summary, percentiles, percentiles_of_calls, quotient};
use crate::wire::{Time, UsageFields};

/// The number of chats returned with a workflow.
const LISTED_CHATS: usize = 100;

/// The statistics and the cost of a workflow.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkflowStatsResponse {
    /// `mon_{app_id}_{workflow_name}`, for existing readers; two workflows may share it.
    #[serde(rename = "_id")]
    #[schema(example = "mon_acme_corp_Generator")]
    id: String,
    #[schema(example = "acme_corp")]
    app_id: String,
    #[schema(example = "Generator")]
    workflow_name: String,
    /// When the statistics last changed; null if nothing has happened yet.
    last_updated_at: Option<Time>,
    overall_avg: OverallAvg,
    /// The newest chats, by id.
    #[schema(value_type = BTreeMap<String, ChatFields>)]
    #[serde(serialize_with = "in_order")]
    chat_sessions: Vec<(String, ChatFields)>,
    /// The cursor for further chats, at `chats?cursor=`; null if these are all.
    next_cursor: Option<String>,
    /// The usage of agents, by name; calls without an agent are only in `top_agents`.
    agents: BTreeMap<String, AgentFields>,
    #[serde(flatten)]
    summary: Summary,
    /// Percentiles of durations, tokens and costs, of chats and of calls.
    percentiles: BTreeMap<&'static str, Percentiles>,
    /// Agents, highest cost first.
    top_agents: Vec<AgentStats>,
    /// Models, highest cost first.
    top_models: Vec<ModelStats>,
}

/// Averages: durations over the chats that have ended, all others over all chats.
#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "existing readers expect these names")]
pub(crate) struct OverallAvg {
    #[schema(example = 245.5)]
    avg_duration_sec: f64,
    /// Whole tokens, rounded down, like the other two.
    #[schema(example = 3200)]
    avg_prompt_tokens: u64,
    #[schema(example = 1500)]
    avg_completion_tokens: u64,
    #[schema(example = 4700)]
    avg_total_tokens: u64,
    #[schema(example = 0.15)]
    avg_cost_total_usd: f64,
}

/// The duration and usage of a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowChat)]
struct ChatFields {
    /// Seconds from the start to the end of the chat, or until now; 0 if the chat was removed before it had ended.
    #[schema(example = 300.0)]
    duration_sec: f64,
    #[schema(example = 3500)]
    prompt_tokens: u64,
    #[schema(example = 1600)]
    completion_tokens: u64,
    #[schema(example = 5100)]
    total_tokens: u64,
    #[schema(example = 0.18)]
    cost_total_usd: f64,
    /// Null if the chat was removed before it had ended.
    #[schema(value_type = Option<values::ChatStatus>)]
    status: Option<ChatStatus>,
    started_at: Time,
}

/// The usage of an agent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowAgent)]
#[expect(clippy::struct_field_names, reason = "existing readers expect these names")]
struct AgentFields {
    #[schema(example = 1500)]
    total_prompt_tokens: u64,
    #[schema(example = 800)]
    total_completion_tokens: u64,
    #[schema(example = 0.06)]
    total_cost_usd: f64,
}

/// The usage and the percentiles of the calls of an agent.
#[derive(Debug, Serialize, ToSchema)]
struct AgentStats {
    /// Null for calls without an agent.
    #[schema(example = "planner")]
    agent: Option<String>,
    usage: UsageFields,
    percentiles: BTreeMap<&'static str, Percentiles>,
}

/// The usage and the percentiles of the calls of a model.
#[derive(Debug, Serialize, ToSchema)]
struct ModelStats {
    #[schema(example = "anthropic")]
    provider: Option<String>,
    #[schema(example = "claude-sonnet-4")]
    model: Option<String>,
    usage: UsageFields,
    percentiles: BTreeMap<&'static str, Percentiles>,
}

/// The number of agents and models listed in detail.
const MAX_TOP_ENTRIES: usize = 20;

impl WorkflowStatsResponse {
    pub(crate) async fn read(
        store: &dyn Store,
        workflow: WorkflowScope,
    ) -> Result<Self, StoreError> {
        let WorkflowScope { app_id, workflow_name } = &workflow;
        let (stats, page) = tokio::try_join!(
            store.workflow_stats(app_id, workflow_name),
            store.list_chat_stats(app_id, workflow_name, LISTED_CHATS, None),
        )?;
        Ok(Self::new(workflow, stats, page))
    }

    fn new(workflow: WorkflowScope, stats: WorkflowStats, page: ChatStatsPage) -> Self {
        let WorkflowScope { app_id, workflow_name } = workflow;
        let next = page.next.map(|next| next.encode());
        let by_id = |chat: ChatStats| (chat.chat_id.to_string(), chat.into());
        let named = |(agent, rollup): &(Option<String>, Rollup)| {
            agent.clone().map(|agent| (agent, AgentFields::from(rollup)))
        };
        Self {
            id: format!("mon_{app_id}_{workflow_name}"),
            app_id: app_id.into(),
            workflow_name: workflow_name.into(),
            last_updated_at: stats.last_updated_at.map(Into::into),
            overall_avg: OverallAvg::from(&stats.total),
            chat_sessions: page.chats.into_iter().map(by_id).collect(),
            next_cursor: next,
            agents: stats.agents.iter().filter_map(named).collect(),
            summary: Summary::from(&stats.total),
            percentiles: percentiles(&stats.total, &Measure::ALL),
            top_agents: stats.agents.into_iter().take(MAX_TOP_ENTRIES).map(Into::into).collect(),
            top_models: stats.models.into_iter().take(MAX_TOP_ENTRIES).map(Into::into).collect(),
        }
    }
}

impl From<&Rollup> for OverallAvg {
    fn from(rollup: &Rollup) -> Self {
        let chats = rollup.chats();
        let average = |counter| rollup.count(counter).checked_div(chats).unwrap_or(0);
        let ended = rollup.histogram(Measure::ChatDuration).count();
        let duration_ms = quotient(rollup.get(Counter::ChatDurationMs), ended);
        let cost = rollup.get(Counter::CostMicros);
        let cost = quotient(cost, i64::try_from(chats).unwrap_or(i64::MAX));
        Self {
            avg_duration_sec: duration_ms.unwrap_or(0.0) / 1_000.0,
            avg_prompt_tokens: average(Counter::PromptTokens),
            avg_completion_tokens: average(Counter::CompletionTokens),
            avg_total_tokens: average(Counter::TotalTokens),
            avg_cost_total_usd: cost.unwrap_or(0.0) / 1_000_000.0,
        }
    }
}

impl From<ChatStats> for ChatFields {
    fn from(chat: ChatStats) -> Self {
        Self {
            duration_sec: duration_sec(&chat),
            prompt_tokens: chat.usage.tokens.prompt,
            completion_tokens: chat.usage.tokens.completion,
            total_tokens: chat.usage.tokens.total,
            cost_total_usd: dollars(chat.usage.cost_micros),
            status: chat.status,
            started_at: chat.started_at.into(),
        }
    }
}

impl From<&Rollup> for AgentFields {
    fn from(rollup: &Rollup) -> Self {
        let usage = rollup.usage();
        Self {
            total_prompt_tokens: usage.tokens.prompt,
            total_completion_tokens: usage.tokens.completion,
            total_cost_usd: dollars(usage.cost_micros),
        }
    }
}

impl From<(Option<String>, Rollup)> for AgentStats {
    fn from((agent, rollup): (Option<String>, Rollup)) -> Self {
        let percentiles = percentiles_of_calls(&rollup);
        Self { agent, usage: rollup.usage().into(), percentiles }
    }
}

impl From<(Model, Rollup)> for ModelStats {
    fn from((model, rollup): (Model, Rollup)) -> Self {
        let percentiles = percentiles_of_calls(&rollup);
        let Model { provider, model } = model;
        Self { provider, model, usage: rollup.usage().into(), percentiles }
    }
}

/// Serializes pairs of names and values as an object, in their order.
fn in_order<S: Serializer>(
    named: &[(String, ChatFields)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(named.iter().map(|(name, value)| (name, value)))
}

/// Returns how long a chat took, or how long it has been running.
pub(super) fn duration_sec(chat: &ChatStats) -> f64 {
    let milliseconds = match chat.duration_ms {
        Some(duration_ms) => i64::try_from(duration_ms).unwrap_or(i64::MAX),
        None if chat.status.is_none() => 0,
        None => (SystemClock.now() - chat.started_at).num_milliseconds().max(0),
    };
    quotient(milliseconds, 1_000).unwrap_or(0.0)
}

/// Returns an amount in dollars as a number, which existing readers expect.
fn dollars(micros: u64) -> f64 {
    MicroDollars::from_sum(micros).to_string().parse().unwrap_or(0.0)
}

/// Returns the statistics and the cost of a workflow, with its newest chats.
///
/// The sums are updated with every call and every change of status. So the request costs the same for any
/// number of chats, and its result is always current.
#[operation(answers = "The stats")]
pub(crate) async fn get_workflow_stats(
    State(store): State<Arc<dyn Store>>,
    workflow: WorkflowScope,
    Query(()): Query<()>,
) -> Result<Json<WorkflowStatsResponse>, Problem> {
    Ok(Json(WorkflowStatsResponse::read(&*store, workflow).await?))
}
