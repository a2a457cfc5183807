//! Carries a call through transient failures, and decides what to say when that does not help.
//!
//! A call is carried once, from the outside: what it does within an attempt returns a `Failure`
//! and leaves trying again, the deadline and the verdict to the one loop here.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use bson::doc;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout_at};

use crate::metrics::{Direction, FailureReason};
use crate::mongo::MongoStore;
use crate::mongo::engine::failure::{Failure, Meaning, meaning};
use crate::{BoxError, StoreError};

/// What an attempt has to know about those before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    /// There was none. Otherwise one may have been carried out, whatever its error said.
    pub(crate) is_first: bool,
    /// Not even its error says that none was carried out.
    pub(crate) may_have_applied: bool,
}

/// When a caller who was told `Unavailable` may try again.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(2);

impl MongoStore {
    /// Reads, until it succeeds or the deadline passes.
    pub(crate) async fn read<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.carry(Direction::Read, self.deadline(), |_| attempt()).await
    }

    /// Writes, until it succeeds or the deadline passes.
    ///
    /// The attempt must be safe to repeat: it is, when told, to find out whether an earlier one
    /// was carried out.
    pub(crate) async fn write<T, F>(&self, attempt: impl Fn(Attempt) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.write_until(self.deadline(), attempt).await
    }

    /// Writes, until it succeeds or a deadline set by its caller passes.
    pub(crate) async fn write_until<T, F>(
        &self,
        deadline: Instant,
        attempt: impl Fn(Attempt) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.carry(Direction::Write, deadline, attempt).await
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.inner.deadline
    }

    /// Waits until a server answers.
    pub(crate) async fn server_is_back(&self) {
        self.wait_for_server(&mut pauses()).await;
    }

    async fn carry<T, F>(
        &self,
        direction: Direction,
        deadline: Instant,
        attempt: impl Fn(Attempt) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let metrics = &self.inner.metrics.attempts;
        let is_write = direction == Direction::Write;
        let mut pauses = pauses();
        let mut is_first = true;
        let mut may_have_applied = false;
        loop {
            metrics.begun(direction, is_first);
            let outcome =
                timeout_at(deadline, attempt(Attempt { is_first, may_have_applied })).await;
            if let Some(reason) = failure_reason(&outcome) {
                metrics.failed(direction, reason);
            }
            let error: BoxError = match outcome {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(Failure::Decided(error))) => return Err(error),
                Ok(Err(Failure::Driver(error))) => {
                    let meaning = meaning(&error);
                    if meaning == Meaning::Refused {
                        return Err(refused(may_have_applied, error.into()));
                    }
                    may_have_applied |= is_write && meaning == Meaning::Unknown;
                    error.into()
                }
                Ok(Err(Failure::Unsafe(error))) => {
                    may_have_applied = true;
                    error
                }
                Err(elapsed) => {
                    may_have_applied |= is_write;
                    elapsed.into()
                }
            };
            tracing::debug!(error = %error, may_have_applied, "an attempt failed");
            is_first = false;
            let is_back = async {
                sleep(pauses.next().unwrap_or_default()).await;
                self.wait_for_server(&mut pauses).await;
            };
            if timeout_at(deadline, is_back).await.is_err() {
                return Err(given_up(may_have_applied, error));
            }
        }
    }

    /// Waits until a server answers.
    ///
    /// Before a write is tried again: a deadline that passes here passes while nothing is under
    /// way, so that it says nothing about the write.
    async fn wait_for_server(&self, pauses: &mut impl Iterator<Item = Duration>) {
        while self.inner.database.run_command(doc! { "ping": 1 }).await.is_err() {
            sleep(pauses.next().unwrap_or_default()).await;
        }
    }
}

fn failure_reason<T>(outcome: &Result<Result<T, Failure>, Elapsed>) -> Option<FailureReason> {
    match outcome {
        Ok(Ok(_)) => None,
        Ok(Err(failure)) => failure.reason(),
        Err(_) => Some(FailureReason::Deadline),
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
fn refused(may_have_applied: bool, source: BoxError) -> StoreError {
    if may_have_applied {
        StoreError::OutcomeUnknown { source }
    } else {
        StoreError::Refused { source }
    }
}
