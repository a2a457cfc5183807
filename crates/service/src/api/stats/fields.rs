use std::collections::BTreeMap;

use crate::wire::UsageFields;
use records::{ChatStatus, Counter, Histogram, Measure, Rollup};
use serde::Serialize;
use utoipa::ToSchema;

/// What a workflow, or all of an app, has done.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Summary {
    /// How many chats there are.
    #[schema(example = 2)]
    chats: u64,
    statuses: Statuses,
    events: Events,
    /// The part of the chats that have ended which has failed; null where none has ended.
    #[schema(example = 0.0)]
    error_rate: Option<f64>,
    usage: UsageFields,
}

/// How many chats stand where.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Statuses {
    #[schema(example = 0)]
    running: u64,
    #[schema(example = 0)]
    paused: u64,
    #[schema(example = 2)]
    completed: u64,
    #[schema(example = 0)]
    failed: u64,
}

/// How often what was done, a chat that was reopened and has ended again counted twice.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Events {
    #[schema(example = 2)]
    starts: u64,
    #[schema(example = 0)]
    pauses: u64,
    #[schema(example = 0)]
    resumptions: u64,
    #[schema(example = 2)]
    completions: u64,
    #[schema(example = 0)]
    failures: u64,
    #[schema(example = 0)]
    reopens: u64,
}

/// Numbers that so many of a hundred do not exceed, at most 1/32 off; null where nothing was counted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Percentiles {
    #[schema(example = 2)]
    count: u64,
    #[schema(example = 4352)]
    p50: Option<u64>,
    #[schema(example = 5120)]
    p95: Option<u64>,
    #[schema(example = 5120)]
    p99: Option<u64>,
}

impl From<&Rollup> for Summary {
    fn from(rollup: &Rollup) -> Self {
        let statuses = Statuses::from(rollup);
        let failed = rollup.get(Counter::for_status(ChatStatus::Failed));
        let ended = failed + rollup.get(Counter::for_status(ChatStatus::Completed));
        Self {
            chats: rollup.chats(),
            statuses,
            events: rollup.into(),
            error_rate: quotient(failed, ended),
            usage: rollup.usage().into(),
        }
    }
}

impl From<&Rollup> for Statuses {
    fn from(rollup: &Rollup) -> Self {
        Self {
            running: rollup.count(Counter::Running),
            paused: rollup.count(Counter::Paused),
            completed: rollup.count(Counter::Completed),
            failed: rollup.count(Counter::Failed),
        }
    }
}

impl From<&Rollup> for Events {
    fn from(rollup: &Rollup) -> Self {
        Self {
            starts: rollup.count(Counter::Starts),
            pauses: rollup.count(Counter::Pauses),
            resumptions: rollup.count(Counter::Resumptions),
            completions: rollup.count(Counter::Completions),
            failures: rollup.count(Counter::Failures),
            reopens: rollup.count(Counter::Reopens),
        }
    }
}

impl From<&Histogram> for Percentiles {
    fn from(histogram: &Histogram) -> Self {
        Self {
            count: u64::try_from(histogram.count()).unwrap_or(0),
            p50: histogram.percentile(50),
            p95: histogram.percentile(95),
            p99: histogram.percentile(99),
        }
    }
}

/// What is measured of each call.
const OF_CALLS: [Measure; 3] = [Measure::CallTokens, Measure::CallCost, Measure::CallDuration];

/// Returns how measures are distributed, by their names.
pub(super) fn percentiles(
    rollup: &Rollup,
    measures: &[Measure],
) -> BTreeMap<&'static str, Percentiles> {
    let named = |measure: &Measure| (measure.name(), rollup.histogram(*measure).into());
    measures.iter().map(named).collect()
}

/// Returns how what is measured of each call is distributed.
pub(crate) fn percentiles_of_calls(rollup: &Rollup) -> BTreeMap<&'static str, Percentiles> {
    percentiles(rollup, &OF_CALLS)
}

/// Divides whole numbers that a float holds exactly; `None` where there is nothing to divide by.
#[expect(clippy::cast_precision_loss, reason = "an average may be off in its sixteenth digit")]
pub(super) fn quotient(sum: i64, count: i64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}
