use std::time::Instant;

use super::family::Family;
use super::instrument::{Counter, Histogram};

/// The sealing of tails into segments.
#[derive(Debug)]
pub(crate) struct SealingMetrics {
    durations: Histogram,
    failures: Counter,
    segments: Counter,
}

impl Default for SealingMetrics {
    fn default() -> Self {
        Self {
            durations: Histogram::of_durations(),
            failures: Counter::default(),
            segments: Counter::default(),
        }
    }
}

impl SealingMetrics {
    /// Notes a run in the background that began at `start` and is over.
    pub(crate) fn ended(&self, start: Instant, is_ok: bool) {
        self.durations.observe_duration(start.elapsed());
        if !is_ok {
            self.failures.increment();
        }
    }

    /// Notes a segment that has taken messages out of a tail.
    pub(crate) fn sealed(&self) {
        self.segments.increment();
    }

    pub(super) fn families(&self) -> Vec<Family> {
        vec![
            Family::histogram(
                "reprise_sealing_duration_seconds",
                "How long runs of the background sealing took.",
                &self.durations,
            ),
            Family::counter(
                "reprise_sealing_failures_total",
                "Runs of the background sealing that were given up.",
                &self.failures,
            ),
            Family::counter(
                "reprise_sealing_segments_total",
                "Segments that took messages out of a tail.",
                &self.segments,
            ),
        ]
    }
}
