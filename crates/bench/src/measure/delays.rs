use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::quantiles::quantile;

/// The time from the acknowledgement of messages to their delivery, in milliseconds; negative if the
/// delivery came first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delays(Arc<Mutex<Vec<f64>>>);

impl Delays {
    pub(crate) fn note(&self, acknowledged: Instant, told: Instant) {
        let late = told.saturating_duration_since(acknowledged).as_secs_f64();
        let early = acknowledged.saturating_duration_since(told).as_secs_f64();
        let mut delays = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        delays.push((late - early) * 1_000.0);
    }

    /// Forgets what was noted so far.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the delay that the given share does not exceed.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        sorted.sort_unstable_by(f64::total_cmp);
        quantile(&sorted, share)
    }
}
