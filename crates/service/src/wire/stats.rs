use std::collections::BTreeMap;

use super::UsageFields;
use records::{ChatStatus, Counter, Histogram, Measure, Rollup};
use serde::Serialize;
use utoipa::ToSchema;

/// The statistics of a workflow, or of all workflows of an app.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Summary {
    /// The number of chats that were ever created.
    #[schema(example = 2)]
    chats: u64,
    statuses: Statuses,
    events: Events,
    /// The failed chats divided by all chats that have ended; null if none has ended.
    #[schema(example = 0.0)]
    error_rate: Option<f64>,
    usage: UsageFields,
}

/// The number of chats by their current status, without those that were deleted or purged before they had ended.
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

/// The number of changes of status; a chat that was reopened and has ended again is counted twice.
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

/// Percentiles of a distribution, with an error of at most 1/32; null if it is empty.
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

/// The measures of calls.
const CALL_MEASURES: [Measure; 3] = [Measure::CallTokens, Measure::CallCost, Measure::CallDuration];

/// Returns the percentiles of measures, by their names.
pub(crate) fn percentiles(
    rollup: &Rollup,
    measures: &[Measure],
) -> BTreeMap<&'static str, Percentiles> {
    let named = |measure: &Measure| (measure.name(), rollup.histogram(*measure).into());
    measures.iter().map(named).collect()
}

/// Returns the percentiles of the measures of calls.
pub(crate) fn percentiles_of_calls(rollup: &Rollup) -> BTreeMap<&'static str, Percentiles> {
    percentiles(rollup, &CALL_MEASURES)
}

/// Divides two integers; `None` if the divisor is not positive.
#[expect(clippy::cast_precision_loss, reason = "an average may be off in its sixteenth digit")]
pub(crate) fn quotient(sum: i64, count: i64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}
