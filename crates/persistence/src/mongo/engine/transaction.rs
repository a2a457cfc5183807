//! The one transaction primitive: for what changes several documents that must not be seen apart.
//!
//! A transaction is worked on in rounds. A round reads what it decides by, begins, writes, and says
//! whether to commit; where another transaction was in the way, the next round starts from the
//! beginning. Rounds run within a write call, whose task is not dropped when its caller goes away. That
//! matters: the driver knows that a transaction is open only once its first command has returned, so a
//! future that is dropped before leaves the transaction open on the server, with its locks.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use mongodb::ClientSession;
use mongodb::error::{Error, TRANSIENT_TRANSACTION_ERROR};
use records::{ChatId, ChatSession, Scope};
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use tokio::time::{sleep, timeout_at};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::engine::calls::{Attempt, WriteCall};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::stats::Stripe;

/// How a round ended that met no error.
#[derive(Debug)]
pub(crate) enum Round<T> {
    /// With the answer: what was written is to be committed, if anything was.
    Done(T),
    /// Something is not as it was read: nothing is committed, and the next round looks again.
    Again,
}

impl<T> Round<T> {
    /// Turns the answer into another.
    pub(crate) fn map<U>(self, into: impl FnOnce(T) -> U) -> Round<U> {
        match self {
            Self::Done(answer) => Round::Done(into(answer)),
            Self::Again => Round::Again,
        }
    }

    /// Reads an answer that is missing where something was not as it was read.
    pub(crate) fn of(answer: Option<T>) -> Self {
        answer.map_or(Self::Again, Self::Done)
    }
}

/// A transaction of one round. Clones are the same transaction.
#[derive(Debug, Clone)]
pub(crate) struct Transaction<'s>(Arc<Inner<'s>>);

#[derive(Debug)]
struct Inner<'s> {
    store: &'s MongoStore,
    attempt: Attempt,
    number: u32,
    /// The lowest stripe to count in, if that can be.
    lowest_stripe: u32,
    stripe: OnceCell<Stripe<'s>>,
    session: OnceCell<Mutex<ClientSession>>,
}

impl Transaction<'_> {
    /// Begins the transaction; from here on [`session`](Self::session) may be used. Reads in it see what
    /// the majority has.
    pub(crate) async fn begin(&self) -> Result<(), Failure> {
        let Inner { store, attempt, session, .. } = &*self.0;
        attempt.check_goes_on()?;
        let mut started = store.inner.database.client().start_session().await?;
        started.start_transaction().await?;
        // It is not set yet: a round begins its transaction once.
        drop(session.set(Mutex::new(started)));
        Ok(())
    }

    /// Begins a transaction that counts for the workflow of a chat, in a stripe of its own.
    pub(crate) async fn begin_counted(&self, chat: &ChatSession) -> Result<(), Failure> {
        let Inner { store, attempt, lowest_stripe, stripe, .. } = &*self.0;
        let taking = store.stripe(&chat.app_id, &chat.workflow_name, *lowest_stripe);
        let taken = timeout_at(attempt.deadline(), taking).await;
        drop(stripe.set(taken.map_err(|_| Failure::Ended("the workflow is counted by too many"))?));
        self.begin().await
    }

    /// Returns the session, for one command at a time; refuses after the deadline of the call.
    pub(crate) async fn session(&self) -> Result<MutexGuard<'_, ClientSession>, Failure> {
        self.0.attempt.check_deadline()?;
        let session =
            self.0.session.get().ok_or(Failure::Ended("the transaction has not begun"))?;
        Ok(session.lock().await)
    }

    /// Returns the number of the stripe to count in.
    pub(crate) fn stripe(&self) -> u32 {
        self.0.stripe.get().map_or(0, Stripe::number)
    }

    /// Tells whether no round came before this one, in this attempt or an earlier one.
    pub(crate) fn is_first(&self) -> bool {
        self.0.number == 0 && self.0.attempt.is_first
    }

    /// Returns the attempt that the round belongs to.
    pub(crate) fn attempt(&self) -> &Attempt {
        &self.0.attempt
    }
}

impl WriteCall {
    /// Attempts a transaction until it is committed or its deadline passes; see
    /// [`MongoStore::transact`].
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
}

impl MongoStore {
    /// Works in rounds until one is decided, and committed if it has begun a transaction.
    ///
    /// A round that was not committed is refused as fenced, where the caller has lost its lease.
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
            attempt.check_goes_on()?;
            self.check_fence(scope, chat_id).await?;
            // Another process may count in the stripe that this one had.
            lowest_stripe = transaction.stripe() + 1;
            drop(transaction);
            sleep(pauses.next().unwrap_or_default()).await;
        }
        Err(Failure::Ended("too many rounds"))
    }
}

/// Commits a transaction in which all went well, and aborts any other; `None`: something was not as it
/// was read, or another transaction was in the way.
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
    // What cannot be aborted now the server aborts by itself, later.
    drop(session.abort_transaction().await);
    match failure {
        Failure::Driver(error) if is_transaction_conflict(&error) => Ok(None),
        failure => Err(failure),
    }
}

/// Another transaction is in the way, or has done the same.
fn is_transaction_conflict(error: &Error) -> bool {
    error.contains_label(TRANSIENT_TRANSACTION_ERROR) || is_duplicate_key(error)
}

/// The pauses between rounds: short, for a transaction ends soon, and never the same for two that met.
fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(1))
        .with_max_delay(Duration::from_millis(64))
        .with_jitter()
        .without_max_times()
        .build()
}
