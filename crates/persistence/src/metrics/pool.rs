use super::family::Family;
use super::instrument::{Counter, Gauge, Histogram};

/// The connections to all servers of the database.
#[derive(Debug)]
pub(crate) struct PoolMetrics {
    pub(crate) open: Gauge,
    pub(crate) in_use: Gauge,
    pub(crate) created: Counter,
    pub(crate) closed: Counter,
    pub(crate) clears: Counter,
    pub(crate) checkout_failures: Counter,
    pub(crate) waits: Histogram,
}

impl Default for PoolMetrics {
    fn default() -> Self {
        Self {
            open: Gauge::default(),
            in_use: Gauge::default(),
            created: Counter::default(),
            closed: Counter::default(),
            clears: Counter::default(),
            checkout_failures: Counter::default(),
            waits: Histogram::of_durations(),
        }
    }
}

impl PoolMetrics {
    pub(super) fn families(&self) -> Vec<Family> {
        vec![
            Family::gauge(
                "reprise_mongo_pool_connections",
                "Connections to the database that are open or being opened.",
                &self.open,
            ),
            Family::gauge(
                "reprise_mongo_pool_connections_in_use",
                "Connections to the database that run a command.",
                &self.in_use,
            ),
            Family::counter(
                "reprise_mongo_pool_connections_opened_total",
                "Connections to the database that the pool began to open.",
                &self.created,
            ),
            Family::counter(
                "reprise_mongo_pool_connections_closed_total",
                "Connections to the database that were closed.",
                &self.closed,
            ),
            Family::counter(
                "reprise_mongo_pool_clears_total",
                "Times that the pool discarded all connections to a server.",
                &self.clears,
            ),
            Family::counter(
                "reprise_mongo_pool_checkout_failures_total",
                "Commands that got no connection.",
                &self.checkout_failures,
            ),
            Family::histogram(
                "reprise_mongo_pool_wait_seconds",
                "How long commands waited for a connection.",
                &self.waits,
            ),
        ]
    }
}
