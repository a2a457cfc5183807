//! The life of a call: one deadline, retries, and one ledger of writes that may have been applied.
//!
//! Calls are retried only in [`with_retries`](MongoStore::with_retries): an attempt returns a
//! `Failure` and never retries itself. A write runs in its own task, so that a caller that
//! disconnects leaves nothing half done: a transaction that was begun is committed or aborted, and
//! no further one is begun.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use bson::doc;
use futures::future::BoxFuture;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::Instrument as _;

use crate::metrics::Direction;
use crate::mongo::MongoStore;
use crate::mongo::engine::failure::Failure;
use crate::{BoxError, StoreError};

/// The time after which a caller that got `Unavailable` may retry.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The cause of a failure of which nothing else is known.
const NO_ANSWER: &str = "the database did not answer in time";

/// How long after the deadline of its call a write may continue, to commit or abort its transaction.
///
/// This is longer than the server's default lifetime of a transaction. If a transaction cannot be
/// ended by then, the server has aborted it.
const MAX_OVERTIME: Duration = Duration::from_secs(70);

/// What an attempt knows about its call.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    /// Whether this is the first attempt. An earlier one may have been applied despite its error.
    pub(crate) is_first: bool,
    deadline: Instant,
    ledger: Arc<Ledger>,
}

impl Attempt {
    /// Returns whether a write of this call may have been applied.
    pub(crate) fn may_have_applied(&self) -> bool {
        self.ledger.may_have_applied()
    }

    /// Records a write whose outcome is unknown.
    pub(crate) fn note_unknown_write(&self) {
        self.ledger.note_unknown_write();
    }

    /// Records that no earlier write of this call is in the store.
    ///
    /// An attempt calls this after it has searched for the marks or ids of earlier attempts. If it then
    /// refuses the call, its reason is the answer. After any other failure the earlier attempts still
    /// count: their requests may reach the server later.
    pub(crate) fn note_nothing_applied(&self) {
        self.ledger.is_found_absent.store(true, Ordering::Release);
    }

    /// Returns the time at which the caller stops waiting.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns an error if the caller no longer waits or the deadline has passed, so that nothing new is begun.
    pub(crate) fn check_continues(&self) -> Result<(), Failure> {
        if self.ledger.is_abandoned.load(Ordering::SeqCst) {
            return Err(Failure::Ended("the caller no longer waits"));
        }
        self.check_deadline()
    }

    /// Returns an error after the deadline of the call.
    pub(crate) fn check_deadline(&self) -> Result<(), Failure> {
        if Instant::now() < self.deadline {
            return Ok(());
        }
        Err(Failure::Ended("the deadline of the call has passed"))
    }
}

/// What a call knows about its writes, through all attempts. The task and the caller share it.
#[derive(Debug, Default)]
struct Ledger {
    /// Whether a write with an unknown outcome was sent.
    may_have_applied: AtomicBool,
    /// Whether a later attempt has searched for that write and not found it.
    is_found_absent: AtomicBool,
    /// Whether an attempt of a write is running.
    is_under_way: AtomicBool,
    /// Whether the caller was cancelled or has stopped waiting.
    is_abandoned: AtomicBool,
    /// What the driver has said last. It tells more than a deadline that passes.
    cause: Mutex<Option<String>>,
}

impl Ledger {
    fn may_have_applied(&self) -> bool {
        self.may_have_applied.load(Ordering::Acquire)
    }

    fn note_unknown_write(&self) {
        self.is_found_absent.store(false, Ordering::Release);
        self.may_have_applied.store(true, Ordering::Release);
    }

    fn note_cause(&self, cause: &BoxError) {
        *self.cause.lock().unwrap_or_else(PoisonError::into_inner) = Some(cause.to_string());
    }

    /// Returns the error for a caller whose deadline has passed.
    fn deadline_error(&self, source: BoxError) -> StoreError {
        let cause = self.cause.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let source = cause.map_or(source, BoxError::from);
        if self.may_have_applied() || self.is_under_way.load(Ordering::SeqCst) {
            StoreError::OutcomeUnknown { source }
        } else {
            StoreError::Unavailable { retry_after: RETRY_AFTER, source }
        }
    }

    /// Returns the error for a refused attempt.
    ///
    /// If an earlier attempt may have been applied, the outcome is unknown, unless this attempt has searched
    /// for it. A late request of the earlier attempt is then refused for the same reason.
    fn refused(&self, error: StoreError) -> StoreError {
        if self.may_have_applied() && !self.is_found_absent.load(Ordering::Acquire) {
            StoreError::OutcomeUnknown { source: error.into() }
        } else {
            error
        }
    }
}

/// Marks the call as abandoned when the caller stops waiting.
struct AbandonOnDrop(Arc<Ledger>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.is_abandoned.store(true, Ordering::SeqCst);
    }
}

/// A write that runs in its own task.
#[derive(Debug, Clone)]
pub(crate) struct WriteCall {
    store: MongoStore,
    deadline: Instant,
    ledger: Arc<Ledger>,
}

impl Deref for WriteCall {
    type Target = MongoStore;

    fn deref(&self) -> &MongoStore {
        &self.store
    }
}

impl WriteCall {
    /// Attempts the write until it succeeds or its deadline passes.
    ///
    /// The attempt must be safe to repeat: unless it is the first, it checks whether an earlier one
    /// was applied. An attempt is never dropped half-way, because the driver would leave its
    /// transaction open.
    pub(crate) async fn attempt<T, F>(
        &self,
        attempt: impl Fn(Attempt) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.attempt_with(Some(&self.store.inner.write_slots), attempt).await
    }

    /// Like [`attempt`](Self::attempt), but without a write slot: for writes that share commands, whose number is limited
    /// where they are sent.
    pub(crate) async fn attempt_shared<T, F>(
        &self,
        attempt: impl Fn(Attempt) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.attempt_with(None, attempt).await
    }

    async fn attempt_with<T, F>(
        &self,
        slots: Option<&Semaphore>,
        attempt: impl Fn(Attempt) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let Self { store, deadline, ledger } = self;
        let bound = *deadline + MAX_OVERTIME;
        store.with_retries(Direction::Write, *deadline, bound, slots, ledger, attempt).await
    }
}

impl MongoStore {
    /// Attempts a read until it succeeds or the default deadline passes.
    pub(crate) async fn read<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.read_until(self.deadline(), attempt).await
    }

    /// Attempts a read until it succeeds or this deadline passes.
    pub(crate) async fn read_until<T, F>(
        &self,
        deadline: Instant,
        attempt: impl Fn() -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let attempt = |_| attempt();
        self.with_retries(Direction::Read, deadline, deadline, None, &Arc::default(), attempt).await
    }

    /// Runs a write in its own task, and waits for the answer until the deadline passes.
    pub(crate) async fn write<T, F>(
        &self,
        work: impl FnOnce(WriteCall) -> F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.write_by(self.deadline(), work).await
    }

    /// Like [`write`](Self::write), with a deadline of its own. For transactions on much data.
    pub(crate) async fn write_by<T, F>(
        &self,
        deadline: Instant,
        work: impl FnOnce(WriteCall) -> F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let ledger = Arc::<Ledger>::default();
        let call = WriteCall { store: self.clone(), deadline, ledger: Arc::clone(&ledger) };
        let (sender, answer) = oneshot::channel();
        let work = work(call);
        // Boxed, and without an answer of its own, so that the code of a task is compiled once and not for each call.
        let work: BoxFuture<'static, ()> = Box::pin(async move {
            // A caller that no longer waits needs no answer.
            drop(sender.send(work.await));
        });
        self.spawn(work.in_current_span());
        let caller = AbandonOnDrop(Arc::clone(&ledger));
        let answer = timeout_at(deadline, answer).await;
        drop(caller);
        match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(gone)) => Err(StoreError::OutcomeUnknown { source: gone.into() }),
            Err(_) => Err(ledger.deadline_error(NO_ANSWER.into())),
        }
    }

    /// Runs a task that does not end with the call that starts it; see [`finish_tasks`](Self::finish_tasks).
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.inner.tasks.spawn(task)
    }

    /// Waits until no task of the store is running: writes whose callers have disconnected, appends, sealing.
    ///
    /// Call this before the process ends. A task that is dropped within a transaction leaves its documents locked
    /// for up to `transactionLifetimeLimitSeconds`. Writes end soon after their deadline.
    pub async fn finish_tasks(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.inner.tasks.reopen();
    }

    /// Attempts a write of single documents until it succeeds or this deadline passes. A running attempt is then
    /// dropped, so it must not begin a transaction. For background tasks of the store.
    pub(crate) async fn write_until<T, F>(
        &self,
        deadline: Instant,
        attempt: impl Fn(Attempt) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let (slots, ledger) = (Some(&self.inner.write_slots), Arc::default());
        self.with_retries(Direction::Write, deadline, deadline, slots, &ledger, attempt).await
    }

    /// Like [`write_until`](Self::write_until), but without a write slot: the number of concurrent appends is limited
    /// where their commands are sent.
    pub(crate) async fn append_until<T, F>(
        &self,
        deadline: Instant,
        attempt: impl Fn(Attempt) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.with_retries(Direction::Write, deadline, deadline, None, &Arc::default(), attempt)
            .await
    }

    /// Returns the deadline of a call that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.inner.deadline
    }

    /// Waits until a server answers.
    pub(crate) async fn wait_until_server_answers(&self) {
        self.wait_for_server(&mut pauses()).await;
    }

    /// Attempts a call until it succeeds or its deadline passes. A running attempt is dropped at `bound`.
    async fn with_retries<T, F>(
        &self,
        direction: Direction,
        deadline: Instant,
        bound: Instant,
        slots: Option<&Semaphore>,
        ledger: &Arc<Ledger>,
        attempt: impl Fn(Attempt) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut retries = Retries {
            store: self,
            direction,
            deadline,
            slots,
            ledger,
            pauses: pauses(),
            is_first: true,
            slot: None,
        };
        loop {
            let this = retries.begin().await?;
            let failure = match timeout_at(bound, attempt(this)).await {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(failure)) => failure,
                Err(_) => Failure::Unfinished(NO_ANSWER.into()),
            };
            retries.go_on_after(failure).await?;
        }
    }

    /// Waits until a server answers.
    ///
    /// This runs before a retry: if the deadline passes here, no attempt is running, so the timeout
    /// does not make the outcome of the write unknown.
    async fn wait_for_server(&self, pauses: &mut ExponentialBackoff) {
        while self.inner.database.run_command(doc! { "ping": 1 }).await.is_err() {
            sleep(pauses.next().unwrap_or_default()).await;
        }
    }
}

/// What surrounds the attempts of a call. It is apart from them, so that it is compiled once and not for each call.
struct Retries<'a> {
    store: &'a MongoStore,
    direction: Direction,
    deadline: Instant,
    slots: Option<&'a Semaphore>,
    ledger: &'a Arc<Ledger>,
    pauses: ExponentialBackoff,
    is_first: bool,
    /// The slot of the running attempt.
    slot: Option<SemaphorePermit<'a>>,
}

impl Retries<'_> {
    /// Waits until an attempt may begin.
    async fn begin(&mut self) -> Result<Attempt, StoreError> {
        let Self { ledger, deadline, is_first, direction, .. } = *self;
        if let Some(slots) = self.slots {
            match timeout_at(deadline, slots.acquire()).await {
                Ok(slot) => self.slot = slot.ok(),
                Err(_) => return Err(ledger.deadline_error("too many writes are waiting".into())),
            }
        }
        // `is_under_way` is set before `is_abandoned` is read. So a caller that stops waiting now either sees the
        // attempt or prevents it.
        ledger.is_under_way.store(self.is_write(), Ordering::SeqCst);
        if ledger.is_abandoned.load(Ordering::SeqCst) {
            ledger.is_under_way.store(false, Ordering::SeqCst);
            return Err(ledger.deadline_error("the caller no longer waits".into()));
        }
        self.store.inner.metrics.attempts.begun(direction, is_first);
        Ok(Attempt { is_first, deadline, ledger: Arc::clone(ledger) })
    }

    /// Waits until the next attempt may begin, or returns the answer of the call.
    async fn go_on_after(&mut self, failure: Failure) -> Result<(), StoreError> {
        let Self { ledger, store, .. } = *self;
        if let Some(reason) = failure.reason() {
            store.inner.metrics.attempts.failed(self.direction, reason);
        }
        if self.is_write() && failure.may_have_applied() {
            ledger.note_unknown_write();
        }
        ledger.is_under_way.store(false, Ordering::SeqCst);
        self.slot = None;
        let driver = failure.driver_text();
        let error = match failure.into_final() {
            Ok(answer) => return Err(ledger.refused(answer)),
            Err(error) => error,
        };
        if driver.is_some() {
            ledger.note_cause(&error);
        }
        let may_have_applied = ledger.may_have_applied();
        tracing::debug!(error = %error, driver, may_have_applied, "an attempt failed");
        self.is_first = false;
        let is_back = async {
            sleep(self.pauses.next().unwrap_or_default()).await;
            store.wait_for_server(&mut self.pauses).await;
        };
        match timeout_at(self.deadline, is_back).await {
            Ok(()) => Ok(()),
            Err(_) => Err(ledger.deadline_error(error)),
        }
    }

    fn is_write(&self) -> bool {
        self.direction == Direction::Write
    }
}

fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(Duration::from_secs(1))
        .with_jitter()
        .without_max_times()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unavailable(error: &StoreError) -> bool {
        matches!(error, StoreError::Unavailable { .. })
    }

    #[test]
    fn a_call_that_wrote_nothing_is_unavailable_and_may_be_refused() {
        let ledger = Ledger::default();
        assert!(unavailable(&ledger.deadline_error("late".into())));
        assert!(unavailable(&ledger.refused(ledger.deadline_error("late".into()))));
        ledger.is_under_way.store(true, Ordering::SeqCst);
        assert!(matches!(ledger.deadline_error("late".into()), StoreError::OutcomeUnknown { .. }));
    }

    #[test]
    fn an_unknown_write_is_remembered_through_all_attempts() {
        let ledger = Ledger::default();
        ledger.note_unknown_write();
        let refusal = || StoreError::Overloaded { retry_after: RETRY_AFTER };
        assert!(matches!(ledger.deadline_error("late".into()), StoreError::OutcomeUnknown { .. }));
        assert!(matches!(ledger.refused(refusal()), StoreError::OutcomeUnknown { .. }));
        ledger.is_found_absent.store(true, Ordering::Release);
        // A refusal is now the answer. The loss of the server still makes the outcome unknown.
        assert!(matches!(ledger.refused(refusal()), StoreError::Overloaded { .. }));
        assert!(matches!(ledger.deadline_error("late".into()), StoreError::OutcomeUnknown { .. }));
        ledger.note_unknown_write();
        assert!(matches!(ledger.refused(refusal()), StoreError::OutcomeUnknown { .. }));
    }
}
