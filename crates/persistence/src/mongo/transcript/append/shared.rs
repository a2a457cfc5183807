//! Updates of several chats in one command, which costs less than a command for each.
//!
//! A few commands run at a time. An append that arrives meanwhile waits for the first of them to end,
//! and is then sent together with all others that have arrived. Without load, nothing waits.
//!
//! The reply says only how many of the updates matched. So each update states the counter that it
//! expects. A session never returns to an old counter: an update that did not match never will, and
//! the session shows whether an update was applied.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bson::raw::RawArrayBuf;
use bson::{Document, RawDocument, RawDocumentBuf, doc, rawdoc};
use futures::TryStreamExt;
use mongodb::error::Error;
use mongodb::options::Hint;
use records::{AppId, ChatId};
use tokio::sync::oneshot::error::RecvError;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::time::timeout;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::CHAT_SESSIONS;
use crate::mongo::documents::{encode, open_chat_session};
use crate::mongo::engine::failure::Failure;
use crate::mongo::transcript::append::send_state::SendState;

/// How many commands run before updates share one. Two are slower, eight are no faster (decision 0009).
const CONCURRENT_COMMANDS: usize = 4;

/// The most updates that share a command, and their most bytes.
const SHARED_UPDATES: usize = 64;
const SHARED_BYTES: usize = 1 << 20;

/// How long an update waits for a shared command before it is sent alone: the running commands may
/// hang.
const MAX_BATCH_WAIT: Duration = Duration::from_millis(100);

/// Limits the commands that run at a time, and holds the updates that wait for one of them to end.
#[derive(Debug)]
pub(crate) struct CommandBatcher {
    /// One permit for each command that may run.
    free: Semaphore,
    /// One permit for each update that may be sent alone while all these commands are running.
    alone: Semaphore,
    waiting: Mutex<VecDeque<WaitingUpdate>>,
}

#[derive(Debug)]
struct WaitingUpdate {
    update: RawDocumentBuf,
    trace: UpdateTrace,
    send_state: Arc<SendState>,
    outcome: oneshot::Sender<Result<Outcome, Fault>>,
}

/// What is needed to find out whether an update of a session was applied, if the reply to its command
/// does not show it.
#[derive(Debug, Clone)]
pub(crate) struct UpdateTrace {
    pub(crate) app_id: AppId,
    pub(crate) chat_id: ChatId,
    /// The counter that the update expects.
    pub(crate) last_sequence: u64,
    /// The id of the first message that it appends to the tail; `None` if it appends none there.
    pub(crate) event_id: Option<String>,
}

impl UpdateTrace {
    /// Finds out from the current session whether the update was applied.
    ///
    /// The command has ended, so an update that was not applied by now never will be.
    fn outcome(&self, session: Option<&RawDocumentBuf>) -> Result<Outcome, StoreError> {
        let Some(session) = session else { return Ok(Outcome::NotMatched) };
        let fields = open_chat_session(session)?;
        let first_sequence = fields.count("first_sequence")?;
        if fields.count("last_sequence")? == self.last_sequence {
            return Ok(Outcome::NotMatched);
        }
        let at =
            self.last_sequence.checked_sub(first_sequence).and_then(|at| usize::try_from(at).ok());
        // The message is sealed already, or was never in the tail: the next attempt has to find out.
        let (Some(at), Some(event_id)) = (at, &self.event_id) else { return Ok(Outcome::Unknown) };
        match fields.documents("messages")?.nth(at).transpose()? {
            Some(message) if message.field("event_id")?.text()? == event_id => Ok(Outcome::Done),
            Some(_) => Ok(Outcome::NotMatched),
            None => Ok(Outcome::Unknown),
        }
    }
}

/// The outcome of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was applied.
    Done,
    /// It was not matched: the chat is not in the state that it expects.
    NotMatched,
    /// Unknown: the reply does not say which updates of the command were applied.
    Unknown,
}

/// Why a command has no outcome that can be relied on.
#[derive(Debug, Clone)]
enum Fault {
    Driver(Error),
    /// The updates were applied, but may be rolled back; with the server's reason.
    NotDurable(String),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Driver(error) => Self::Driver(error),
            Fault::NotDurable(reason) => Self::NotDurable(reason.into()),
        }
    }
}

/// What happens first to a waiting update.
enum Turn<'a> {
    /// Another task has sent it.
    Served(Result<Result<Outcome, Fault>, RecvError>),
    /// A command has ended, so this task may send one.
    Lane(Option<SemaphorePermit<'a>>),
}

impl CommandBatcher {
    pub(crate) fn new(alone: usize) -> Self {
        let (free, alone) = (Semaphore::new(CONCURRENT_COMMANDS), Semaphore::new(alone));
        Self { free, alone, waiting: Mutex::default() }
    }

    /// Waits for the permit to send an update alone, outside the limited commands.
    pub(crate) async fn send_alone(&self) -> Option<SemaphorePermit<'_>> {
        self.alone.acquire().await.ok()
    }

    /// Returns the permit to run a command, unless the most that may run are running.
    pub(crate) fn enter(&self) -> Option<SemaphorePermit<'_>> {
        self.free.try_acquire().ok()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<WaitingUpdate>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the waiting updates for one command.
    fn take(&self) -> Vec<WaitingUpdate> {
        let mut waiting = self.waiting();
        let mut taken: Vec<WaitingUpdate> = Vec::new();
        let mut bytes = 0;
        while taken.len() < SHARED_UPDATES
            && let Some(next) = waiting.pop_front()
        {
            bytes += next.update.as_bytes().len();
            if !taken.is_empty() && bytes > SHARED_BYTES {
                waiting.push_front(next);
                break;
            }
            // An update is not sent if its caller no longer waits.
            if !next.outcome.is_closed() && next.send_state.send() {
                taken.push(next);
            }
        }
        taken
    }
}

impl MongoStore {
    /// Applies an update to a session, in a command of its own or together with others.
    ///
    /// The filter must state the expected counter, or another state to which no session returns.
    pub(crate) async fn update_session(
        &self,
        filter: &Document,
        update: &RawDocument,
        trace: UpdateTrace,
    ) -> Result<Outcome, Failure> {
        let lane = self.inner.batcher.enter();
        if lane.is_none()
            && let Some(outcome) = self.update_with_others(filter, update, trace).await?
        {
            return Ok(outcome);
        }
        let _slot = if lane.is_none() { self.inner.batcher.send_alone().await } else { None };
        Ok(self.send_updates(&[&statement(filter, update)?]).await?)
    }

    /// Applies an update in a command shared with others, for when all commands are running; `None` if
    /// it was not sent in time, and never will be.
    pub(crate) async fn update_with_others(
        &self,
        filter: &Document,
        update: &RawDocument,
        trace: UpdateTrace,
    ) -> Result<Option<Outcome>, Failure> {
        let update = statement(filter, update)?;
        let send_state = Arc::new(SendState::default());
        let (sender, mut outcome) = oneshot::channel();
        let waiting =
            WaitingUpdate { update, trace, send_state: Arc::clone(&send_state), outcome: sender };
        let batcher = &self.inner.batcher;
        batcher.waiting().push_back(waiting);
        let turn = async {
            tokio::select! {
                biased;
                outcome = &mut outcome => Turn::Served(outcome),
                lane = batcher.free.acquire() => Turn::Lane(lane.ok()),
            }
        };
        let outcome = match timeout(MAX_BATCH_WAIT, turn).await {
            Ok(Turn::Served(outcome)) => outcome,
            Ok(Turn::Lane(lane)) => {
                // The task that gets the permit sends all waiting updates, until its own is sent.
                while !send_state.is_sent() {
                    self.update_together(batcher.take()).await;
                }
                drop(lane);
                outcome.await
            }
            Err(_) if send_state.withdraw() => return Ok(None),
            Err(_) => outcome.await,
        };
        // There is no answer if the task that sent the update has ended early.
        Ok(Some(outcome.unwrap_or(Ok(Outcome::Unknown))?))
    }

    async fn update_together(&self, waiting: Vec<WaitingUpdate>) {
        // After the deadline, no caller waits for these updates.
        let sending = timeout(self.inner.deadline, self.send_and_trace(&waiting));
        let Ok(outcomes) = sending.await else { return };
        for (index, waiting) in waiting.into_iter().enumerate() {
            let outcome = outcomes.as_ref().map(|of| of[index]).map_err(Clone::clone);
            // A caller that is gone needs no answer.
            drop(waiting.outcome.send(outcome));
        }
    }

    /// Sends updates in one command, and returns the outcome of each.
    ///
    /// The reply says how many were applied. If that is neither all nor none, one query finds out for all
    /// of them, so that an update that does not match does not make the others repeat theirs.
    async fn send_and_trace(&self, waiting: &[WaitingUpdate]) -> Result<Vec<Outcome>, Fault> {
        let updates: Vec<_> = waiting.iter().map(|waiting| &*waiting.update).collect();
        let outcome = self.send_updates(&updates).await?;
        let mut outcomes = vec![outcome; waiting.len()];
        if outcome == Outcome::Unknown {
            // Where the query gives no answer, the next attempt of each append finds out.
            if let Ok(traced) = self.trace_updates(waiting).await {
                outcomes = traced;
            }
        }
        Ok(outcomes)
    }

    async fn trace_updates(&self, waiting: &[WaitingUpdate]) -> Result<Vec<Outcome>, Failure> {
        let traces: Vec<&UpdateTrace> = waiting.iter().map(|waiting| &waiting.trace).collect();
        let ids: Vec<&str> = traces.iter().map(|trace| trace.chat_id.as_str()).collect();
        let mut apps: Vec<&str> = traces.iter().map(|trace| trace.app_id.as_str()).collect();
        apps.sort_unstable();
        apps.dedup();
        let filter = doc! { "_id": { "$in": ids }, "app_id": { "$in": apps } };
        let projection = doc! { "first_sequence": 1, "last_sequence": 1, "messages.event_id": 1, "schema_version": 1 };
        let find = self.inner.chat_sessions.find(filter).projection(projection);
        let found: Vec<RawDocumentBuf> =
            find.hint(Hint::Keys(doc! { "_id": 1 })).await?.try_collect().await?;
        let sessions: HashMap<&str, &RawDocumentBuf> =
            found.iter().filter_map(|raw| Some((raw.get_str("_id").ok()?, raw))).collect();
        let outcome = |trace: &&UpdateTrace| {
            Ok(trace.outcome(sessions.get(trace.chat_id.as_str()).copied())?)
        };
        traces.iter().map(outcome).collect()
    }

    async fn send_updates(&self, updates: &[&RawDocument]) -> Result<Outcome, Fault> {
        let mut statements = RawArrayBuf::new();
        for update in updates {
            statements.push(*update);
        }
        let command = rawdoc! {
            "update": CHAT_SESSIONS,
            "updates": statements,
            // An update that fails must not keep the updates of other chats from being applied.
            "ordered": false,
            "writeConcern": { "w": "majority", "j": true },
        };
        self.inner.metrics.appends.sent(updates.len());
        let reply = self.inner.database.run_raw_command(command).await.map_err(Fault::Driver)?;
        Outcome::of(&reply, updates.len())
    }
}

fn statement(filter: &Document, update: &RawDocument) -> Result<RawDocumentBuf, Failure> {
    Ok(rawdoc! { "q": encode(filter)?, "u": update.to_owned(), "hint": "_id_" })
}

impl Outcome {
    /// Reads the outcome of a number of updates from the reply to their command.
    fn of(reply: &Document, updates: usize) -> Result<Self, Fault> {
        if let Some(error) = reply.get("writeConcernError") {
            return Err(Fault::NotDurable(error.to_string()));
        }
        let matched = reply.get_i32("n").unwrap_or(-1);
        let outcome = match usize::try_from(matched) {
            // Which updates failed, and why, is found out afterwards.
            _ if reply.contains_key("writeErrors") => Self::Unknown,
            Ok(0) => Self::NotMatched,
            Ok(matched) if matched == updates => Self::Done,
            _ => Self::Unknown,
        };
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reply_has_the_results_of_all_updates() {
        let of = |reply| Outcome::of(&reply, 3);
        assert_eq!(of(doc! { "n": 3, "ok": 1.0 }).unwrap(), Outcome::Done);
        assert_eq!(of(doc! { "n": 0, "ok": 1.0 }).unwrap(), Outcome::NotMatched);
        assert_eq!(of(doc! { "n": 2, "ok": 1.0 }).unwrap(), Outcome::Unknown);
        assert_eq!(of(doc! { "ok": 1.0 }).unwrap(), Outcome::Unknown);
        let errors = doc! { "n": 3, "writeErrors": [{ "index": 1, "code": 112 }] };
        assert_eq!(of(errors).unwrap(), Outcome::Unknown);
        let concern = doc! { "n": 3, "writeConcernError": { "code": 64 } };
        assert!(matches!(of(concern), Err(Fault::NotDurable(_))));
    }
}
