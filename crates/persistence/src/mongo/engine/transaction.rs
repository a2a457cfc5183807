//! The transaction primitive, for changes of several documents that must be visible together.
//!
//! A transaction runs in rounds. A round reads, decides, begins, writes, and returns whether to
//! commit. After a conflict with another transaction the next round starts from the beginning.
//! Rounds run within a write call, whose task is not dropped when its caller disconnects. This
//! matters because the driver marks a transaction as running only after its first command has
//! returned: a future that is dropped before leaves the transaction open on the server, with its
//! locks.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use mongodb::ClientSession;
use mongodb::error::{Error, TRANSIENT_TRANSACTION_ERROR};
use records::{AppId, ChatId, ChatSession, Scope, WorkflowName};
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use tokio::time::{sleep, timeout_at};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::engine::calls::{Attempt, WriteCall};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::stats::Stripe;

/// The result of a round without an error.
#[derive(Debug)]
pub(crate) enum Round<T> {
    /// The round has the answer. Its writes, if any, must be committed.
    Done(T),
    /// Something has changed since the round read it. Nothing is committed, and the next round
    /// reads again.
    Again,
}

impl<T> Round<T> {
    /// Converts the answer.
    pub(crate) fn map<U>(self, into: impl FnOnce(T) -> U) -> Round<U> {
        match self {
            Self::Done(answer) => Round::Done(into(answer)),
            Self::Again => Round::Again,
        }
    }

    /// Makes a round from an answer that is `None` if something has changed since it was read.
    pub(crate) fn of(answer: Option<T>) -> Self {
        answer.map_or(Self::Again, Self::Done)
    }
}

/// The transaction of one round. Clones refer to the same transaction.
#[derive(Debug, Clone)]
pub(crate) struct Transaction<'s>(Arc<Inner<'s>>);

#[derive(Debug)]
struct Inner<'s> {
    store: &'s MongoStore,
    attempt: Attempt,
    number: u32,
    /// The lowest stripe in which the round may count, if possible.
    lowest_stripe: u32,
    stripe: OnceCell<Stripe<'s>>,
    session: OnceCell<Mutex<ClientSession>>,
}

impl Transaction<'_> {
    /// Begins the transaction; [`session`](Self::session) may be used from then on. Reads in the
    /// transaction have majority read concern.
    pub(crate) async fn begin(&self) -> Result<(), Failure> {
        let Inner { store, attempt, session, .. } = &*self.0;
        attempt.check_continues()?;
        let mut started = store.inner.database.client().start_session().await?;
        started.start_transaction().await?;
        // A round begins its transaction only once, so the cell is still empty.
        drop(session.set(Mutex::new(started)));
        Ok(())
    }

    /// Returns whether the transaction has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.session.initialized()
    }

    /// Begins a transaction that updates the rollups of the chat's workflow, in a stripe that no
    /// other transaction of this process uses.
    pub(crate) async fn begin_counted(&self, chat: &ChatSession) -> Result<(), Failure> {
        self.begin_counting(&chat.app_id, &chat.workflow_name).await
    }

    /// Begins a transaction that changes a chat, and updates the rollups only if it changes whether the chat is counted.
    pub(crate) async fn begin_uncounting(
        &self,
        before: &ChatSession,
        now: &ChatSession,
    ) -> Result<(), Failure> {
        if before.is_uncounted == now.is_uncounted {
            self.begin().await
        } else {
            self.begin_counted(before).await
        }
    }

    /// Begins a transaction that updates the rollups of a workflow, in a stripe of its own.
    pub(crate) async fn begin_counting(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
    ) -> Result<(), Failure> {
        let Inner { store, attempt, lowest_stripe, stripe, .. } = &*self.0;
        let taking = store.stripe(app_id, workflow_name, *lowest_stripe);
        let taken = timeout_at(attempt.deadline(), taking).await;
        drop(stripe.set(taken.map_err(|_| {
            Failure::Ended("too many concurrent transactions update the stats of the workflow")
        })?));
        self.begin().await
    }

    /// Returns the session, for one command at a time. Fails after the deadline of the call.
    pub(crate) async fn session(&self) -> Result<MutexGuard<'_, ClientSession>, Failure> {
        self.0.attempt.check_deadline()?;
        let session =
            self.0.session.get().ok_or(Failure::Ended("the transaction has not begun"))?;
        Ok(session.lock().await)
    }

    /// Returns the number of the stripe in which to count.
    pub(crate) fn stripe(&self) -> u32 {
        self.0.stripe.get().map_or(0, Stripe::number)
    }

    /// Returns whether this is the first round of the first attempt.
    pub(crate) fn is_first(&self) -> bool {
        self.0.number == 0 && self.0.attempt.is_first
    }

    /// Returns the attempt of the round.
    pub(crate) fn attempt(&self) -> &Attempt {
        &self.0.attempt
    }
}

impl WriteCall {
    /// Attempts a transaction until it is committed or its deadline passes; see [`MongoStore::transact`].
    pub(crate) async fn transact<'s, T, F>(
        &'s self,
        scope: &Scope,
        chat_id: &ChatId,
        round: impl Fn(Transaction<'s>) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<Round<T>, Failure>>,
    {
        let round = &round;
        self.attempt(|attempt| async move {
            MongoStore::transact(self, &attempt, scope, chat_id, round).await
        })
        .await
    }

    /// Attempts a transaction that concerns no chat, until it is committed or its deadline passes.
    pub(crate) async fn transact_without_chat<'s, T, F>(
        &'s self,
        round: impl Fn(Transaction<'s>) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<Round<T>, Failure>>,
    {
        let round = &round;
        self.attempt(|attempt| async move {
            MongoStore::run_rounds(self, &attempt, round, || ready(Ok(()))).await
        })
        .await
    }
}

impl MongoStore {
    /// Runs rounds until one is decided, and committed if it has begun a transaction.
    ///
    /// After a round without a commit, a caller that has lost its lease gets `Fenced`.
    pub(crate) async fn transact<'s, T, F>(
        &'s self,
        attempt: &Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        round: impl Fn(Transaction<'s>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<Round<T>, Failure>>,
    {
        self.run_rounds(attempt, round, || self.check_fence(scope, chat_id)).await
    }

    /// Runs rounds until one is decided, and committed if it has begun a transaction. After a round without a commit,
    /// `check` decides whether there is a next one.
    async fn run_rounds<'s, T, F, C>(
        &'s self,
        attempt: &Attempt,
        round: impl Fn(Transaction<'s>) -> F,
        check: impl Fn() -> C,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<Round<T>, Failure>>,
        C: Future<Output = Result<(), Failure>>,
    {
        let mut pauses = pauses();
        let mut lowest_stripe = 0;
        for number in 0.. {
            let transaction = Transaction(Arc::new(Inner {
                store: self,
                attempt: attempt.clone(),
                number,
                lowest_stripe,
                stripe: OnceCell::new(),
                session: OnceCell::new(),
            }));
            let worked = round(transaction.clone()).await;
            if let Some(answer) = commit_or_abort(&transaction, worked).await? {
                return Ok(answer);
            }
            attempt.check_continues()?;
            check().await?;
            // Another process may use the same stripe, so the next round uses a higher one.
            lowest_stripe = transaction.stripe() + 1;
            drop(transaction);
            sleep(pauses.next().unwrap_or_default()).await;
        }
        Err(Failure::Ended("too many rounds"))
    }
}

/// Commits a successful transaction and aborts any other. Returns `None` after a conflict with
/// another transaction, or if something has changed since it was read.
async fn commit_or_abort<T>(
    transaction: &Transaction<'_>,
    worked: Result<Round<T>, Failure>,
) -> Result<Option<T>, Failure> {
    let Some(session) = transaction.0.session.get() else {
        return worked.map(|round| match round {
            Round::Done(answer) => Some(answer),
            Round::Again => None,
        });
    };
    let mut session = session.lock().await;
    let failure = match worked {
        Ok(Round::Done(answer)) => match session.commit_transaction().await {
            Ok(()) => return Ok(Some(answer)),
            Err(error) => error.into(),
        },
        Ok(Round::Again) => {
            drop(session.abort_transaction().await);
            return Ok(None);
        }
        Err(failure) => failure,
    };
    // If the abort fails, the server aborts the transaction later by itself.
    drop(session.abort_transaction().await);
    match failure {
        Failure::Driver(error) if is_transaction_conflict(&error) => Ok(None),
        failure => Err(failure),
    }
}

/// Returns whether another transaction conflicts, or has already inserted the same document.
fn is_transaction_conflict(error: &Error) -> bool {
    error.contains_label(TRANSIENT_TRANSACTION_ERROR) || is_duplicate_key(error)
}

/// Returns the pauses between rounds. They are short, because transactions end soon, and random, so that
/// two transactions do not conflict again and again.
fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(1))
        .with_max_delay(Duration::from_millis(64))
        .with_jitter()
        .without_max_times()
        .build()
}
