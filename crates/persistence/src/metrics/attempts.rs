use super::family::Family;
use super::instrument::Counter;
use super::label::{By, label};

label! {
    /// Whether something is read or written.
    Direction: "direction" {
        Read = "read",
        Write = "write",
    }
}

label! {
    /// Why an attempt failed that was not refused by a rule of ours.
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

/// The attempts that calls and background work take at the database.
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
                "Attempts at the database, the first ones and those after a failure.",
                &self.begun,
            ),
            Family::counter(
                "reprise_store_retries_total",
                "Attempts at the database that follow one that failed.",
                &self.retries,
            ),
            Family::counter(
                "reprise_store_attempt_failures_total",
                "Attempts at the database that failed, by the reason.",
                &self.failures,
            ),
        ]
    }
}
