use std::ops::Range;
use std::sync::Arc;

use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use operation::operation;
use persistence::{Store, StoreError, UsageBy, UsageFilter, UsageOrder};
use records::{AppId, Clock as _, Model, Subject, SystemClock, Usage, hour_of};
use serde::{Deserialize, Serialize};
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::points::ListedSteps;
use super::series::{Step, UsagePoint};
use crate::config::LimitsConfig;
use crate::extract::{AppStatsScope, FromParams, Json, Params, Query, declared};
use crate::problem::Problem;
use crate::wire::{Time, UsageFields};

/// The number by which usage is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum UsageListOrder {
    /// The cost of the calls.
    Cost,
    /// The tokens of the calls.
    Tokens,
    /// The number of the calls.
    Calls,
}

/// The calls that are counted, and the order of the list.
#[derive(Debug, IntoParams)]
pub(crate) struct UsageQuery {
    /// `cost` (default), `tokens` or `calls`: those with the most come first.
    #[param(inline, value_type = Option<UsageListOrder>)]
    order_by: UsageOrder,
    /// Counts only the calls from the hour on that contains this moment.
    #[param(value_type = Option<Time>)]
    from: Option<DateTime<Utc>>,
    /// Counts only the calls up to the end of the hour that contains this moment.
    #[param(value_type = Option<Time>)]
    to: Option<DateTime<Utc>>,
    /// `hour` or `day`: each entry has `points`, too, one for each step from `from` to `to`. At most 10,000 points in all.
    #[param(value_type = Option<Step>)]
    step: Option<ListedSteps>,
}

impl FromParams for UsageQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let order_by = params.take_with("order_by", |word| match word {
            "cost" => Ok(UsageOrder::Cost),
            "tokens" => Ok(UsageOrder::Tokens),
            "calls" => Ok(UsageOrder::Calls),
            _ => Err("must be cost, tokens or calls"),
        })?;
        let [from, to] = params.take_span("from", "to")?;
        let step = params.take_with("step", Step::parse)?;
        if step.is_some() && from.is_none() {
            let needs = "needs `from`, where the first step begins";
            return Err(Problem::invalid_parameter("step", needs));
        }
        // Now is one moment for the list and for its points.
        let to = to.or_else(|| from.map(|_| SystemClock.now()));
        let step = step.zip(hours(from, to)).map(|(step, hours)| ListedSteps::of(step, hours));
        Ok(Self { order_by: order_by.unwrap_or_default(), from, to, step })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

impl UsageQuery {
    pub(crate) fn filter(&self) -> UsageFilter {
        UsageFilter { range: hours(self.from, self.to), order: self.order_by }
    }

    /// Refuses a list of so many entries whose points would be too many.
    pub(crate) fn check(&self, limit: usize) -> Result<(), Problem> {
        self.step.as_ref().map_or(Ok(()), |steps| steps.check(limit))
    }

    /// Reads the points of each entry of a list, if they are asked for.
    pub(crate) async fn points(
        &self,
        store: &Arc<dyn Store>,
        app_id: &AppId,
        subjects: Vec<Subject>,
    ) -> Result<Vec<Option<Vec<UsagePoint>>>, StoreError> {
        let Some(steps) = &self.step else {
            return Ok(subjects.iter().map(|_| None).collect());
        };
        let points = steps.read(store, app_id, subjects).await?;
        Ok(points.into_iter().map(Some).collect())
    }
}

/// Returns the hours from one moment to another; `None` for all hours.
pub fn hours(
    from: Option<DateTime<Utc>>,
    to: Option<DateTime<Utc>>,
) -> Option<Range<DateTime<Utc>>> {
    if from.is_none() && to.is_none() {
        return None;
    }
    let from = from.map_or(DateTime::<Utc>::UNIX_EPOCH, hour_of);
    Some(from..hour_of(to.unwrap_or_else(|| SystemClock.now())) + TimeDelta::hours(1))
}

/// The calls that are counted, and how many agents or models are listed.
#[derive(Debug, IntoParams)]
pub(crate) struct SharesQuery {
    #[param(ignore)]
    usage: UsageQuery,
    /// The most entries to return.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
}

impl FromParams for SharesQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let usage = UsageQuery::from_params(params, limits)?;
        let limit = params.take_limit(limits)?;
        usage.check(limit)?;
        Ok(Self { usage, limit })
    }

    fn described() -> Vec<Parameter> {
        let mut parameters = declared::<UsageQuery>();
        parameters.extend(declared::<Self>());
        parameters
    }
}

/// The usage of the agents of an app.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentStatsResponse {
    agents: Vec<AgentUsage>,
    /// Whether there are more than the limit.
    has_more: bool,
}

/// The usage of an agent.
#[derive(Debug, Serialize, ToSchema)]
struct AgentUsage {
    /// Null for calls without an agent.
    #[schema(example = "planner")]
    agent: Option<String>,
    usage: UsageFields,
    /// The usage by the asked step.
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<Vec<UsagePoint>>,
}

/// The usage of the models of an app.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelStatsResponse {
    models: Vec<ModelUsage>,
    /// Whether there are more than the limit.
    has_more: bool,
}

/// The usage of a model.
#[derive(Debug, Serialize, ToSchema)]
struct ModelUsage {
    #[schema(example = "anthropic")]
    provider: Option<String>,
    #[schema(example = "claude-sonnet-4")]
    model: Option<String>,
    usage: UsageFields,
    /// The usage by the asked step.
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<Vec<UsagePoint>>,
}

/// Returns the usage of the agents of an app, in all workflows together: the sums over their calls, or over those of some hours.
#[operation(answers = "The agents, those with the most first")]
pub(crate) async fn get_agent_stats(
    State(store): State<Arc<dyn Store>>,
    AppStatsScope(app_id): AppStatsScope,
    Query(query): Query<SharesQuery>,
) -> Result<Json<AgentStatsResponse>, Problem> {
    let (shares, has_more) = read(&store, &app_id, UsageBy::Agent, &query).await?;
    let agent = |(subject, usage, points): Share| match subject {
        Subject::Agent(agent) => Some(AgentUsage { agent, usage: usage.into(), points }),
        _ => None,
    };
    let agents = shares.into_iter().filter_map(agent).collect();
    Ok(Json(AgentStatsResponse { agents, has_more }))
}

/// Returns the usage of the models of an app, in all workflows together: the sums over their calls, or over those of some hours.
#[operation(answers = "The models, those with the most first")]
pub(crate) async fn get_model_stats(
    State(store): State<Arc<dyn Store>>,
    AppStatsScope(app_id): AppStatsScope,
    Query(query): Query<SharesQuery>,
) -> Result<Json<ModelStatsResponse>, Problem> {
    let (shares, has_more) = read(&store, &app_id, UsageBy::Model, &query).await?;
    let model = |(subject, usage, points): Share| match subject {
        Subject::Model(Model { provider, model }) => {
            Some(ModelUsage { provider, model, usage: usage.into(), points })
        }
        _ => None,
    };
    let models = shares.into_iter().filter_map(model).collect();
    Ok(Json(ModelStatsResponse { models, has_more }))
}

/// The usage of an agent or of a model, and its points, if they are asked for.
type Share = (Subject, Usage, Option<Vec<UsagePoint>>);

async fn read(
    store: &Arc<dyn Store>,
    app_id: &AppId,
    by: UsageBy,
    SharesQuery { usage, limit }: &SharesQuery,
) -> Result<(Vec<Share>, bool), StoreError> {
    let found = store.usage_by(app_id, by, &usage.filter(), *limit).await?;
    let subjects = found.shares.iter().map(|(subject, _)| subject.clone()).collect();
    let points = usage.points(store, app_id, subjects).await?;
    let shares = found.shares.into_iter().zip(points);
    Ok((
        shares.map(|((subject, usage), points)| (subject, usage, points)).collect(),
        found.has_more,
    ))
}
