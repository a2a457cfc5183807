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
    /// Counts a background run that began at `start` and has ended.
    pub(crate) fn ended(&self, start: Instant, is_ok: bool) {
        self.durations.observe_duration(start.elapsed());
        if !is_ok {
            self.failures.increment();
        }
    }

    /// Counts a segment that received messages from a tail.
    pub(crate) fn sealed(&self) {
        self.segments.increment();
    }

    pub(super) fn families(&self) -> Vec<Family> {
        vec![
            Family::histogram(
                "reprise_sealing_duration_seconds",
                "Duration of background sealing runs.",
                &self.durations,
            ),
            Family::counter(
                "reprise_sealing_failures_total",
                "Background sealing runs that failed.",
                &self.failures,
            ),
            Family::counter(
                "reprise_sealing_segments_total",
                "Segments that received messages from a tail.",
                &self.segments,
            ),
        ]
    }
}
