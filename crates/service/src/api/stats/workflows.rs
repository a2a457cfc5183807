use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use operation::operation;
use persistence::{HourlyStats, Store, StoreError, WorkflowSummary};
use records::{AppId, Clock as _, Counter, Rollup, SystemClock, WorkflowName};
use serde::Serialize;
use utoipa::ToSchema;

use super::series::{Step, steps};
use crate::extract::{AppStatsScope, Json, Query};
use crate::problem::Problem;
use crate::wire::Summary;
use crate::wire::Time;

/// The statistics of the workflows of an app.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AppStatsResponse {
    #[schema(example = "acme_corp")]
    app_id: String,
    /// All workflows together.
    #[serde(flatten)]
    summary: Summary,
    /// The starts of the last 24 hours; the current hour is the last.
    hours: Vec<Time>,
    /// The workflows, ordered by name.
    workflows: Vec<WorkflowFields>,
}

/// The statistics of a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowSummary)]
struct WorkflowFields {
    #[schema(example = "Generator")]
    workflow_name: String,
    #[serde(flatten)]
    summary: Summary,
    last_updated_at: Option<Time>,
    hourly: Hourly,
}

/// The statistics of each of the `hours`.
#[derive(Debug, Serialize, ToSchema)]
struct Hourly {
    calls: Vec<u64>,
    starts: Vec<u64>,
    cost_micros_usd: Vec<u64>,
}

impl WorkflowFields {
    fn new(summary: WorkflowSummary, at: impl Fn(&WorkflowName, Counter) -> Vec<u64>) -> Self {
        let WorkflowSummary { workflow_name, total, last_updated_at } = summary;
        let hourly = Hourly {
            calls: at(&workflow_name, Counter::Calls),
            starts: at(&workflow_name, Counter::Starts),
            cost_micros_usd: at(&workflow_name, Counter::CostMicros),
        };
        Self {
            workflow_name: workflow_name.into(),
            summary: Summary::from(&total),
            last_updated_at: last_updated_at.map(Into::into),
            hourly,
        }
    }
}

/// Returns the statistics of each workflow of an app, in total and for each of the last 24 hours.
#[operation(answers = "The stats")]
pub(crate) async fn get_app_stats(
    State(store): State<Arc<dyn Store>>,
    AppStatsScope(app_id): AppStatsScope,
    Query(()): Query<()>,
) -> Result<Json<AppStatsResponse>, Problem> {
    Ok(Json(AppStatsResponse::read(&*store, app_id).await?))
}

impl AppStatsResponse {
    pub(crate) async fn read(store: &dyn Store, app_id: AppId) -> Result<Self, StoreError> {
        let last = Step::Hour.begin(SystemClock.now());
        let first = last - TimeDelta::hours(23);
        let hours: Vec<DateTime<Utc>> = steps(first, last, Step::Hour).collect();
        let (workflows, hourly) = tokio::try_join!(
            store.app_stats(&app_id),
            store.hourly_stats(&app_id, None, first..last + TimeDelta::hours(1)),
        )?;
        let hourly: HashMap<(WorkflowName, DateTime<Utc>), Rollup> = hourly
            .into_iter()
            .map(|HourlyStats { workflow_name, hour, rollup }| ((workflow_name, hour), rollup))
            .collect();
        let at = |name: &WorkflowName, counter| {
            let count = |hour| hourly.get(&(name.clone(), hour)).map_or(0, |r| r.count(counter));
            hours.iter().copied().map(count).collect()
        };
        let mut total = Rollup::default();
        for workflow in &workflows {
            total.merge(&workflow.total, 1);
        }
        Ok(Self {
            app_id: app_id.into(),
            summary: Summary::from(&total),
            workflows: workflows
                .into_iter()
                .map(|summary| WorkflowFields::new(summary, at))
                .collect(),
            hours: hours.iter().copied().map(Time::from).collect(),
        })
    }
}
