use super::family::Family;
use super::instrument::Counter;
use super::label::{By, label};

label! {
    /// A periodic clean-up task.
    Sweep: "sweep" {
        InputRequests = "input_requests",
        Leases = "leases",
        Purges = "purges",
        DeletedTexts = "deleted_texts",
        WebhookEvents = "webhook_events",
        Streams = "streams",
        SearchIndex = "search_index",
        Integrity = "integrity",
    }
}

/// The records that sweeps could not process.
#[derive(Debug, Default)]
pub(crate) struct SweepMetrics {
    failures: By<Sweep, Counter>,
}

impl SweepMetrics {
    pub(crate) fn failed(&self, sweep: Sweep) {
        self.failures.of(sweep).increment();
    }

    pub(super) fn families(&self) -> Vec<Family> {
        vec![Family::counter(
            "reprise_store_sweep_failures_total",
            "Records that a sweep skipped because of an error.",
            &self.failures,
        )]
    }
}
