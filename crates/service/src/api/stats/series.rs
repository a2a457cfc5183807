use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use operation::operation;
use persistence::{HourlyStats, Store};
use records::{Clock as _, Measure, Rollup, SystemClock, Usage, truncated};
use serde::{Deserialize, Serialize};
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::config::LimitsConfig;
use crate::extract::{FromParams, Json, Params, Query, WorkflowScope, declared};
use crate::problem::Problem;
use crate::wire::{Events, Percentiles, percentiles};
use crate::wire::{Time, UsageFields};

/// The most points of a series.
pub(super) const MAX_POINTS: i32 = 1_000;

/// The period that each point of a series covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// An hour.
    Hour,
    /// A day from midnight to midnight, UTC.
    Day,
}

impl Step {
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "hour" => Ok(Self::Hour),
            "day" => Ok(Self::Day),
            _ => Err("must be hour or day"),
        }
    }

    pub(super) fn length(self) -> TimeDelta {
        match self {
            Self::Hour => TimeDelta::hours(1),
            Self::Day => TimeDelta::days(1),
        }
    }

    /// Returns the start of the step that contains a moment.
    pub(super) fn begin(self, at: DateTime<Utc>) -> DateTime<Utc> {
        truncated(at, self.length())
    }
}

/// The points to return.
#[derive(Debug, IntoParams)]
pub(crate) struct SeriesQuery {
    /// The first point contains this moment; by default there are 24 points.
    #[param(value_type = Option<Time>)]
    pub(crate) from: DateTime<Utc>,
    /// The last point contains this moment; now by default.
    #[param(value_type = Option<Time>)]
    to: DateTime<Utc>,
    /// `hour` (default) or `day`. At most 1,000 points.
    #[param(value_type = Option<Step>)]
    pub(crate) step: Step,
}

impl SeriesQuery {
    /// Returns the end of the last step.
    pub(crate) fn end(&self) -> DateTime<Utc> {
        self.to + self.step.length()
    }

    /// Returns the time that the points cover.
    pub(crate) fn range(&self) -> Range<DateTime<Utc>> {
        self.from..self.end()
    }

    /// Makes one point for each step, also if nothing happened in it.
    pub(crate) fn points<T>(
        &self,
        hours: Vec<HourlyStats>,
        point: impl Fn(DateTime<Utc>, &Rollup) -> T,
    ) -> Vec<T> {
        let mut sums: BTreeMap<DateTime<Utc>, Rollup> = BTreeMap::new();
        for hour in hours {
            sums.entry(self.step.begin(hour.hour)).or_default().merge(&hour.rollup, 1);
        }
        let point = |at| point(at, &sums.remove(&at).unwrap_or_default());
        steps(self.from, self.to, self.step).map(point).collect()
    }
}

impl FromParams for SeriesQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let step = params.take_with("step", Step::parse)?.unwrap_or(Step::Hour);
        let [from, to] = params.take_span("from", "to")?;
        let to = to.unwrap_or_else(|| SystemClock.now());
        let from = from.unwrap_or(to - step.length() * 23);
        if from > to {
            return Err(Problem::invalid_parameter("from", "must not be after `to`"));
        }
        if to - from > step.length() * (MAX_POINTS - 1) {
            let most = format!("must be at most {MAX_POINTS} steps before `to`");
            return Err(Problem::invalid_parameter("from", most));
        }
        Ok(Self { from: step.begin(from), to: step.begin(to), step })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// The usage of an hour or a day.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UsagePoint {
    /// The start of the step.
    at: Time,
    usage: UsageFields,
}

impl UsagePoint {
    pub(crate) fn new(at: DateTime<Utc>, usage: Usage) -> Self {
        Self { at: at.into(), usage: usage.into() }
    }
}

/// The statistics of a workflow over time.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SeriesResponse {
    #[schema(example = "acme_corp")]
    app_id: String,
    #[schema(example = "Generator")]
    workflow_name: String,
    /// The start of the first step.
    from: Time,
    /// The end of the last step.
    to: Time,
    step: Step,
    /// One point for each step, also if nothing happened in it.
    points: Vec<Point>,
}

/// The statistics of an hour or a day.
#[derive(Debug, Serialize, ToSchema)]
struct Point {
    /// The start of the step.
    at: Time,
    #[serde(flatten)]
    events: Events,
    usage: UsageFields,
    /// Percentiles of the calls made, and of the chats ended, in this step.
    percentiles: BTreeMap<&'static str, Percentiles>,
}

/// The measures that are kept by the hour.
const MEASURES: [Measure; 4] =
    [Measure::ChatDuration, Measure::CallDuration, Measure::CallTokens, Measure::CallCost];

impl Point {
    fn new(at: DateTime<Utc>, rollup: &Rollup) -> Self {
        Self {
            at: at.into(),
            events: rollup.into(),
            usage: rollup.usage().into(),
            percentiles: percentiles(rollup, &MEASURES),
        }
    }
}

/// Returns the starts of all steps from one to another.
pub(super) fn steps(
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    step: Step,
) -> impl Iterator<Item = DateTime<Utc>> {
    (0..MAX_POINTS).map(move |n| from + step.length() * n).take_while(move |at| *at <= to)
}

/// Returns the statistics of a workflow by hour or by day, with zeros where nothing happened.
#[operation(answers = "The series")]
pub(crate) async fn get_workflow_series(
    State(store): State<Arc<dyn Store>>,
    WorkflowScope { app_id, workflow_name }: WorkflowScope,
    Query(query): Query<SeriesQuery>,
) -> Result<Json<SeriesResponse>, Problem> {
    let hours = store.hourly_stats(&app_id, Some(&workflow_name), query.range()).await?;
    Ok(Json(SeriesResponse {
        app_id: app_id.into(),
        workflow_name: workflow_name.into(),
        from: query.from.into(),
        to: query.end().into(),
        step: query.step,
        points: query.points(hours, Point::new),
    }))
}
