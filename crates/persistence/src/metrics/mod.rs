//! The metrics of a store.
//!
//! Instruments are plain atomics: an observation is one or two additions, and never allocates or
//! blocks. This module knows no exporter; the service renders [`StoreMetrics::families`]. Labels
//! have closed lists of values, so that no caller's text becomes a label.

mod family;
mod instrument;
mod label;
mod reading;

mod appends;
mod attempts;
mod calls;
mod pool;
mod retention;
mod sealing;
mod search;
mod streams;
mod sweeps;

pub use calls::Call;
pub use family::{Family, Series};
pub use instrument::duration_bounds_sec;
pub use reading::{Distribution, Labels};

pub(crate) use appends::{AppendMetrics, QueueBound, Queued};
pub(crate) use attempts::{AttemptMetrics, Direction, FailureReason};
pub(crate) use calls::{CallMetrics, RunningCall};
pub(crate) use label::Label;
pub(crate) use pool::PoolMetrics;
pub(crate) use retention::{RetentionAction, RetentionMetrics};
pub(crate) use sealing::SealingMetrics;
pub(crate) use search::SearchMetrics;
pub(crate) use streams::StreamMetrics;
pub(crate) use sweeps::{Sweep, SweepMetrics};

/// The metrics of one store; clones of a store share them.
#[derive(Debug, Default)]
pub struct StoreMetrics {
    pub(crate) calls: CallMetrics,
    pub(crate) appends: AppendMetrics,
    pub(crate) sealing: SealingMetrics,
    pub(crate) search: SearchMetrics,
    pub(crate) streams: StreamMetrics,
    pub(crate) sweeps: SweepMetrics,
    pub(crate) retention: RetentionMetrics,
    pub(crate) attempts: AttemptMetrics,
    pub(crate) pool: PoolMetrics,
}

impl StoreMetrics {
    /// Returns the current value of every metric.
    ///
    /// Each number is exact, but the numbers are not read at the same instant.
    pub fn families(&self) -> Vec<Family> {
        [
            self.calls.families(),
            self.appends.families(),
            self.sealing.families(),
            self.search.families(),
            self.streams.families(),
            self.sweeps.families(),
            self.retention.families(),
            self.attempts.families(),
            self.pool.families(),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_name_and_a_help_text_and_every_series_has_unique_labels() {
        let families = StoreMetrics::default().families();
        let mut names: Vec<_> = families.iter().map(|family| family.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), families.len());
        for family in families {
            assert!(family.help.ends_with('.'), "{}", family.name);
            let is_counter = matches!(family.series, Series::Counter(_));
            assert_eq!(family.name.ends_with("_total"), is_counter, "{}", family.name);
            let mut labels: Vec<_> = match family.series {
                Series::Counter(series) => series.into_iter().map(|(labels, _)| labels).collect(),
                Series::Gauge(series) => series.into_iter().map(|(labels, _)| labels).collect(),
                Series::Histogram(series) => series.into_iter().map(|(labels, _)| labels).collect(),
            };
            let count = labels.len();
            labels.sort_unstable();
            labels.dedup();
            assert_eq!(labels.len(), count, "{}", family.name);
        }
    }
}
