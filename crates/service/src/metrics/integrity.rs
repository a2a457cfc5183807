use std::sync::atomic::AtomicU64;

use chrono::{DateTime, Utc};
use persistence::SigningPass;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What this process has signed of messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct IntegrityMetrics {
    commitments: Counter,
    broken: Gauge,
    signed_at: Gauge<f64, AtomicU64>,
}

impl IntegrityMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let help = "Commitments to messages that this process has added";
        registry.register("reprise_integrity_commitments", help, metrics.commitments.clone());
        let help = "Chats in which the last pass has found a change that no service has made";
        registry.register("reprise_integrity_broken_chats", help, metrics.broken.clone());
        let help = "Start time of the last pass that signed all changed chats, in seconds since 1970; 0 before the first";
        registry.register(
            "reprise_integrity_pass_timestamp_seconds",
            help,
            metrics.signed_at.clone(),
        );
        metrics
    }

    pub(crate) fn signed(&self, pass: &SigningPass, began_at: DateTime<Utc>) {
        self.commitments.inc_by(pass.commitments);
        self.broken.set(i64::try_from(pass.broken).unwrap_or(i64::MAX));
        #[expect(
            clippy::cast_precision_loss,
            reason = "seconds since 1970 are far below the limit"
        )]
        self.signed_at.set(began_at.timestamp() as f64);
    }
}
