use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The revocations that are in force, and the failed attempts to authenticate.
#[derive(Debug, Clone)]
pub(crate) struct AuthMetrics {
    revocations: Gauge,
    reads: Family<OutcomeLabels, Counter>,
    failed_attempts: Counter,
    refused: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

impl AuthMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            revocations: Gauge::default(),
            reads: Family::default(),
            failed_attempts: Counter::default(),
            refused: Counter::default(),
        };
        let help = "Revocations of tokens and users that this process applies";
        registry.register("reprise_auth_revocations", help, metrics.revocations.clone());
        let help = "Reads of the list of revocations, by outcome";
        registry.register("reprise_auth_revocation_reads", help, metrics.reads.clone());
        let help = "Requests whose token or ticket was not accepted";
        registry.register("reprise_auth_failed_attempts", help, metrics.failed_attempts.clone());
        let help = "Requests refused because their address has failed too often";
        registry.register("reprise_auth_refused_attempts", help, metrics.refused.clone());
        for outcome in ["ok", "failed"] {
            // Creates the series, so that they exist before the first read.
            drop(metrics.reads.get_or_create(&OutcomeLabels { outcome }));
        }
        metrics
    }

    /// Sets the number of revocations that are applied.
    pub(crate) fn revocations_in_force(&self, number: usize) {
        self.revocations.set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// Counts a read of the list.
    pub(crate) fn revocations_read(&self, is_read: bool) {
        let outcome = if is_read { "ok" } else { "failed" };
        self.reads.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    /// Counts a request whose token or ticket was not accepted.
    pub(crate) fn attempt_failed(&self) {
        self.failed_attempts.inc();
    }

    /// Counts a request that was refused before its token or ticket was verified.
    pub(crate) fn refused_for_failed_attempts(&self) {
        self.refused.inc();
    }
}
