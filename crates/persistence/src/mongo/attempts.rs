//! Carries a call through transient failures, and decides what to say when that does not help.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::time::{Instant, sleep, timeout_at};

use super::MongoStore;
use super::failure::{Failure, Meaning, meaning};
use crate::{BoxError, StoreError};

/// What an attempt has to know about those before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    /// An earlier attempt of this call may have been carried out.
    pub(super) may_have_applied: bool,
}

/// When a caller who was told `Unavailable` may try again.
const RETRY_AFTER: Duration = Duration::from_secs(2);

impl MongoStore {
    /// Reads, until it succeeds or the deadline passes.
    pub(super) async fn read<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.carry(false, |_| attempt()).await
    }

    /// Writes, until it succeeds or the deadline passes.
    ///
    /// The attempt must be safe to repeat: it is, when told, to find out whether an earlier one
    /// was carried out.
    pub(super) async fn write<T, F>(&self, attempt: impl Fn(Attempt) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.carry(true, attempt).await
    }

    async fn carry<T, F>(
        &self,
        is_write: bool,
        attempt: impl Fn(Attempt) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let deadline = Instant::now() + self.inner.deadline;
        let mut pauses = pauses();
        let mut may_have_applied = false;
        loop {
            let outcome = timeout_at(deadline, attempt(Attempt { may_have_applied })).await;
            let error: BoxError = match outcome {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(Failure::Decided(error))) => return Err(error),
                Ok(Err(Failure::Driver(error))) => {
                    let meaning = meaning(&error);
                    may_have_applied |= is_write && meaning == Meaning::Unknown;
                    if matches!(meaning, Meaning::Refused | Meaning::TooLarge) {
                        return Err(refused(may_have_applied, meaning, error.into()));
                    }
                    error.into()
                }
                Err(elapsed) => {
                    may_have_applied |= is_write;
                    elapsed.into()
                }
            };
            let pause = pauses.next().unwrap_or_default();
            if Instant::now() + pause >= deadline {
                return Err(given_up(may_have_applied, error));
            }
            tracing::debug!(error = %error, may_have_applied, "trying again");
            sleep(pause).await;
        }
    }
}

fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(Duration::from_secs(1))
        .with_jitter()
        .without_max_times()
        .build()
}

fn given_up(may_have_applied: bool, source: BoxError) -> StoreError {
    if may_have_applied {
        StoreError::OutcomeUnknown { source }
    } else {
        StoreError::Unavailable { retry_after: RETRY_AFTER, source }
    }
}

/// Says that an attempt was refused; what became of an earlier one is another matter.
fn refused(may_have_applied: bool, meaning: Meaning, source: BoxError) -> StoreError {
    match meaning {
        _ if may_have_applied => StoreError::OutcomeUnknown { source },
        // The limits keep documents far below the server's own; others may have made this one large.
        Meaning::TooLarge => {
            records::Invalid::too_large("", "the stored document would exceed 16 MiB").into()
        }
        _ => StoreError::Refused { source },
    }
}
