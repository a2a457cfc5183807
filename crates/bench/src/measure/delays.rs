use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::quantiles::quantile;

/// How long after their acknowledgement messages were told, in milliseconds; less than nothing where the
/// news came first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delays(Arc<Mutex<Vec<f64>>>);

impl Delays {
    pub(crate) fn note(&self, acknowledged: Instant, told: Instant) {
        let late = told.saturating_duration_since(acknowledged).as_secs_f64();
        let early = acknowledged.saturating_duration_since(told).as_secs_f64();
        let mut delays = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        delays.push((late - early) * 1_000.0);
    }

    /// Returns the delay that a share of them does not exceed.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        sorted.sort_unstable_by(f64::total_cmp);
        quantile(&sorted, share)
    }
}
