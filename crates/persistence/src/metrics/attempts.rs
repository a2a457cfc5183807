use super::family::Family;
use super::instrument::Counter;
use super::label::{By, label};

label! {
    /// Whether an attempt reads or writes.
    Direction: "direction" {
        Read = "read",
        Write = "write",
    }
}

label! {
    /// The reason of a failed attempt. Refusals by the store's own rules are not failures.
    FailureReason: "reason" {
        ServerSelection = "server_selection",
        PoolCleared = "pool_cleared",
        Network = "network",
        WriteConcern = "write_concern",
        Transient = "transient",
        Refused = "refused",
        Deadline = "deadline",
    }
}

/// The attempts at database operations, by calls and by background work.
#[derive(Debug, Default)]
pub(crate) struct AttemptMetrics {
    begun: By<Direction, Counter>,
    retries: By<Direction, Counter>,
    failures: By<Direction, By<FailureReason, Counter>>,
}

impl AttemptMetrics {
    pub(crate) fn begun(&self, direction: Direction, is_first: bool) {
        self.begun.of(direction).increment();
        if !is_first {
            self.retries.of(direction).increment();
        }
    }

    pub(crate) fn failed(&self, direction: Direction, reason: FailureReason) {
        self.failures.of(direction).of(reason).increment();
    }

    pub(super) fn families(&self) -> Vec<Family> {
        vec![
            Family::counter(
                "reprise_store_attempts_total",
                "Attempts at a database operation, both first attempts and retries.",
                &self.begun,
            ),
            Family::counter(
                "reprise_store_retries_total",
                "Attempts at a database operation that retry a failed attempt.",
                &self.retries,
            ),
            Family::counter(
                "reprise_store_attempt_failures_total",
                "Attempts at a database operation that failed, by reason.",
                &self.failures,
            ),
        ]
    }
}
