use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// How far the search index is behind, as far as this process knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct SearchIndexMetrics {
    pending: Gauge,
    behind: Gauge<f64, AtomicU64>,
}

impl SearchIndexMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let help = "Changed chats that are not in the search index yet";
        registry.register("reprise_search_pending_chats", help, metrics.pending.clone());
        let help = "How long the oldest of them has waited, in seconds";
        registry.register("reprise_search_behind_seconds", help, metrics.behind.clone());
        metrics
    }

    pub(crate) fn set(&self, pending: usize, behind: Duration) {
        self.pending.set(i64::try_from(pending).unwrap_or(i64::MAX));
        self.behind.set(behind.as_secs_f64());
    }
}
