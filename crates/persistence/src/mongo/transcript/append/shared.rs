//! Updates of several chats in one command, which costs less than a command for each.
//!
//! A few commands are under way by themselves. An append that comes while they are waits for the
//! first that ends, and goes with whatever else has come by then; nobody waits longer than that.
//! The server says only how many of the updates were carried out, so each says exactly which state
//! of its chat it expects: one that does not find it changes nothing, then or later.

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
use crate::mongo::documents::{CHAT_SESSIONS, encode, open_chat_session};
use crate::mongo::engine::failure::Failure;
use crate::mongo::transcript::append::stage::Stage;

/// How many commands are under way before updates share one.
const CONCURRENT_COMMANDS: usize = 4;

/// How many updates share a command, and how large they are together, in bytes.
const SHARED_UPDATES: usize = 64;
const SHARED_BYTES: usize = 1 << 20;

/// How long an update waits to be sent before it goes by itself: the commands under way may be
/// hanging.
const MAX_BATCH_WAIT: Duration = Duration::from_millis(100);

/// The commands that may be under way, and the updates that wait for one of them to end.
#[derive(Debug)]
pub(crate) struct CommandBatcher {
    free: Semaphore,
    /// One for each update that may be under way by itself although no command is free.
    alone: Semaphore,
    waiting: Mutex<VecDeque<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    update: RawDocumentBuf,
    trace: Trace,
    stage: Arc<Stage>,
    outcome: oneshot::Sender<Result<Outcome, Fault>>,
}

/// What tells afterwards whether an update of a session was applied, when the reply to its command does
/// not.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    pub(crate) app_id: AppId,
    pub(crate) chat_id: ChatId,
    /// The counter that the update expects.
    pub(crate) last_sequence: u64,
    /// The id of the first message that it appends to the tail, if it appends there.
    pub(crate) event_id: Option<String>,
}

impl Trace {
    /// Reads what became of the update from the session as it is now.
    ///
    /// The command has ended, so an update that was not applied by now never will be.
    fn outcome(&self, session: Option<&RawDocumentBuf>) -> Result<Outcome, StoreError> {
        let Some(session) = session else { return Ok(Outcome::Unfit) };
        let fields = open_chat_session(session)?;
        let first_sequence = fields.count("first_sequence")?;
        if fields.count("last_sequence")? == self.last_sequence {
            return Ok(Outcome::Unfit);
        }
        let at =
            self.last_sequence.checked_sub(first_sequence).and_then(|at| usize::try_from(at).ok());
        let (Some(at), Some(event_id)) = (at, &self.event_id) else { return Ok(Outcome::Unsure) };
        match fields.documents("messages")?.nth(at).transpose()? {
            Some(message) if message.field("event_id")?.text()? == event_id => Ok(Outcome::Done),
            Some(_) => Ok(Outcome::Unfit),
            None => Ok(Outcome::Unsure),
        }
    }
}

/// What became of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was carried out.
    Done,
    /// The chat is not in the state that it expects.
    Unfit,
    /// Either; one of those that were sent together is.
    Unsure,
}

/// Why nothing is known of an update.
#[derive(Debug, Clone)]
enum Fault {
    Driver(Error),
    /// It was applied, and may be lost again: the server's reason.
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

/// What comes first to an update that waits.
enum Turn<'a> {
    /// Somebody else has sent it.
    Served(Result<Result<Outcome, Fault>, RecvError>),
    /// A command has ended.
    Lane(Option<SemaphorePermit<'a>>),
}

impl CommandBatcher {
    pub(crate) fn new(alone: usize) -> Self {
        let (free, alone) = (Semaphore::new(CONCURRENT_COMMANDS), Semaphore::new(alone));
        Self { free, alone, waiting: Mutex::default() }
    }

    /// Waits for the right to send an update by itself, for one that has no command of its own.
    pub(crate) async fn send_alone(&self) -> Option<SemaphorePermit<'_>> {
        self.alone.acquire().await.ok()
    }

    /// Returns the right to have a command under way, unless as many are.
    pub(crate) fn enter(&self) -> Option<SemaphorePermit<'_>> {
        self.free.try_acquire().ok()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what one command carries.
    fn take(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting();
        let mut taken: Vec<Waiting> = Vec::new();
        let mut bytes = 0;
        while taken.len() < SHARED_UPDATES
            && let Some(next) = waiting.pop_front()
        {
            bytes += next.update.as_bytes().len();
            if !taken.is_empty() && bytes > SHARED_BYTES {
                waiting.push_front(next);
                break;
            }
            // What nobody waits for any more is not begun.
            if !next.outcome.is_closed() && next.stage.send() {
                taken.push(next);
            }
        }
        taken
    }
}

impl MongoStore {
    /// Carries out an update of a session, by itself or together with others.
    ///
    /// The filter says which state of the chat it expects: one that no session comes back to.
    pub(crate) async fn update_session(
        &self,
        filter: &Document,
        update: &RawDocument,
        trace: Trace,
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

    /// Has an update of a session carried out together with others, all batcher being taken; `None`:
    /// it was not sent for too long, and will not be.
    pub(crate) async fn update_with_others(
        &self,
        filter: &Document,
        update: &RawDocument,
        trace: Trace,
    ) -> Result<Option<Outcome>, Failure> {
        let update = statement(filter, update)?;
        let stage = Arc::new(Stage::default());
        let (sender, mut outcome) = oneshot::channel();
        let waiting = Waiting { update, trace, stage: Arc::clone(&stage), outcome: sender };
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
                // Who gets a lane sends for all that wait, unless somebody else just has.
                while !stage.is_sent() {
                    self.update_together(batcher.take()).await;
                }
                drop(lane);
                outcome.await
            }
            Err(_) if stage.withdraw() => return Ok(None),
            Err(_) => outcome.await,
        };
        // Without an answer: whoever had sent it is gone.
        Ok(Some(outcome.unwrap_or(Ok(Outcome::Unsure))?))
    }

    async fn update_together(&self, waiting: Vec<Waiting>) {
        // After the deadline no caller waits any more.
        let sending = timeout(self.inner.deadline, self.send_and_trace(&waiting));
        let Ok(outcomes) = sending.await else { return };
        for (index, waiting) in waiting.into_iter().enumerate() {
            let outcome = outcomes.as_ref().map(|of| of[index]).map_err(Clone::clone);
            // A caller who is gone needs no answer.
            drop(waiting.outcome.send(outcome));
        }
    }

    /// Sends updates in one command, and tells what became of each.
    ///
    /// The reply counts how many were applied. Where that is neither all nor none, one query finds out
    /// for all of them, so that an update that does not fit costs the others nothing more.
    async fn send_and_trace(&self, waiting: &[Waiting]) -> Result<Vec<Outcome>, Fault> {
        let updates: Vec<_> = waiting.iter().map(|waiting| &*waiting.update).collect();
        let outcome = self.send_updates(&updates).await?;
        let mut outcomes = vec![outcome; waiting.len()];
        if outcome == Outcome::Unsure {
            // What the query cannot tell, each update's own next attempt finds out.
            if let Ok(traced) = self.trace_updates(waiting).await {
                outcomes = traced;
            }
        }
        Ok(outcomes)
    }

    async fn trace_updates(&self, waiting: &[Waiting]) -> Result<Vec<Outcome>, Failure> {
        let traces: Vec<&Trace> = waiting.iter().map(|waiting| &waiting.trace).collect();
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
        let outcome =
            |trace: &&Trace| Ok(trace.outcome(sessions.get(trace.chat_id.as_str()).copied())?);
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
    /// Reads what became of so many updates from the reply to their command.
    fn of(reply: &Document, updates: usize) -> Result<Self, Fault> {
        if let Some(error) = reply.get("writeConcernError") {
            return Err(Fault::NotDurable(error.to_string()));
        }
        let matched = reply.get_i32("n").unwrap_or(-1);
        let outcome = match usize::try_from(matched) {
            // What an update met when it failed is for its own next attempt to find out.
            _ if reply.contains_key("writeErrors") => Self::Unsure,
            Ok(0) => Self::Unfit,
            Ok(matched) if matched == updates => Self::Done,
            _ => Self::Unsure,
        };
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_tells_of_all_updates_at_once() {
        let of = |reply| Outcome::of(&reply, 3);
        assert_eq!(of(doc! { "n": 3, "ok": 1.0 }).unwrap(), Outcome::Done);
        assert_eq!(of(doc! { "n": 0, "ok": 1.0 }).unwrap(), Outcome::Unfit);
        assert_eq!(of(doc! { "n": 2, "ok": 1.0 }).unwrap(), Outcome::Unsure);
        assert_eq!(of(doc! { "ok": 1.0 }).unwrap(), Outcome::Unsure);
        let errors = doc! { "n": 3, "writeErrors": [{ "index": 1, "code": 112 }] };
        assert_eq!(of(errors).unwrap(), Outcome::Unsure);
        let concern = doc! { "n": 3, "writeConcernError": { "code": 64 } };
        assert!(matches!(of(concern), Err(Fault::NotDurable(_))));
    }
}
