use std::time::Duration;

use super::quantiles::quantile;

/// The results of one lane in one round.
#[derive(Debug, Clone)]
pub(crate) struct Lap {
    /// The time of each operation, shortest first.
    latencies: Vec<Duration>,
    /// The time of the whole lap, which is less than the sum if there are several writers.
    elapsed: Duration,
    /// The number of messages written, or of reads.
    items: usize,
}

impl Lap {
    pub(crate) fn new(mut latencies: Vec<Duration>, elapsed: Duration, items: usize) -> Self {
        latencies.sort_unstable();
        Self { latencies, elapsed, items }
    }

    pub(crate) fn latencies(&self) -> &[Duration] {
        &self.latencies
    }

    pub(crate) fn p50_ms(&self) -> f64 {
        milliseconds(quantile(&self.latencies, 0.5))
    }

    pub(crate) fn mean_ms(&self) -> f64 {
        let sum: Duration = self.latencies.iter().sum();
        milliseconds(sum) / self.latencies.len().max(1) as f64
    }

    pub(crate) fn p99_ms(&self) -> f64 {
        milliseconds(quantile(&self.latencies, 0.99))
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.items as f64 / self.elapsed.as_secs_f64()
    }

    /// Joins the laps of one lane into one.
    pub(crate) fn joined(laps: &[Self]) -> Self {
        let latencies = laps.iter().flat_map(|lap| &lap.latencies).copied().collect();
        let elapsed = laps.iter().map(|lap| lap.elapsed).sum();
        Self::new(latencies, elapsed, laps.iter().map(|lap| lap.items).sum())
    }
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
