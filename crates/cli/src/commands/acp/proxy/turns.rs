use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::FuturesUnordered;
use persistence::StoreError;
use records::{ChatId, Ids as _, NewTurn, StreamId, TurnId, Uuid7Ids};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep, sleep_until};

use crate::commands::acp::chats::{Chats, Ending};
use crate::commands::acp::live::{Live, PAUSE};
use crate::commands::acp::updates::{Updates, is_said};

/// How long an agent is silent until what it has said without a prompt is stored.
const QUIET: Duration = Duration::from_secs(2);

/// The answers of the agent until they are stored, by its sessions.
pub(super) struct Turns<'a> {
    chats: &'a Chats,
    running: HashMap<String, Turn>,
    storing: FuturesUnordered<BoxFuture<'a, (Attempt, Result<(), StoreError>)>>,
    /// The sessions whose last answer is being stored.
    unstored: HashSet<String>,
    /// The sessions that were prompted. What is said in others is what the agent remembers of them.
    prompted: HashSet<String>,
    /// Where the sessions are sent in which a person or a program asks the agent to stop.
    cancelled: UnboundedSender<String>,
}

/// What an agent says.
struct Turn {
    chat_id: ChatId,
    id: TurnId,
    updates: Updates,
    /// The stream of an answer to a prompt. An agent may also speak by itself, or after its answer.
    live: Option<Live>,
    heard_at: Instant,
}

/// An attempt to store an answer.
pub(super) struct Attempt {
    pub(super) agent_session: String,
    pub(super) chat_id: ChatId,
    stream_id: Option<StreamId>,
    turn: NewTurn,
    pub(super) response: Option<Response>,
}

impl Turn {
    fn is_prompted(&self) -> bool {
        self.live.is_some()
    }
}

/// The response to a prompt, which the client gets once the answer is stored.
pub(super) struct Response {
    pub(super) id: Value,
    pub(super) line: Vec<u8>,
}

impl<'a> Turns<'a> {
    pub(super) fn new(chats: &'a Chats, cancelled: UnboundedSender<String>) -> Self {
        let (running, storing) = Default::default();
        Self {
            chats,
            running,
            storing,
            unstored: HashSet::new(),
            prompted: HashSet::new(),
            cancelled,
        }
    }

    /// Begins the answer to a prompt.
    pub(super) fn begin(&mut self, agent_session: &str, chat_id: ChatId, id: TurnId) {
        self.prompted.insert(agent_session.to_owned());
        let (cancelled, session) = (self.cancelled.clone(), agent_session.to_owned());
        // The proxy may have ended.
        let on_cancel = move || drop(cancelled.send(session));
        let live = Live::start(self.chats.clone(), chat_id.clone(), id.clone(), on_cancel);
        self.insert(agent_session, chat_id, id, Some(live));
    }

    fn insert(&mut self, agent_session: &str, chat_id: ChatId, id: TurnId, live: Option<Live>) {
        let (updates, heard_at) = (Updates::default(), Instant::now());
        let turn = Turn { chat_id, id, updates, live, heard_at };
        self.running.insert(agent_session.to_owned(), turn);
    }

    /// Adds what an agent says in a session whose chat is known.
    pub(super) fn hear(&mut self, agent_session: &str, chat_id: &ChatId, update: &Value) {
        if !self.running.contains_key(agent_session)
            && self.prompted.contains(agent_session)
            && is_said(update)
            && let Ok(id) = TurnId::parse(Uuid7Ids.mint("msg_"))
        {
            self.insert(agent_session, chat_id.clone(), id, None);
        }
        if let Some(turn) = self.running.get_mut(agent_session) {
            if let Some(live) = turn.live.as_ref().filter(|_| is_said(update)) {
                live.push(update);
            }
            turn.updates.push(update.clone());
            turn.heard_at = Instant::now();
        }
    }

    /// Returns what has been said in answer to a prompt that is being answered.
    pub(super) fn so_far(&self, agent_session: &str) -> Option<&[Value]> {
        let turn = self.running.get(agent_session).filter(|turn| turn.is_prompted())?;
        Some(turn.updates.as_slice())
    }

    /// Returns whether something that was said in a session is not stored yet.
    pub(super) fn is_unstored(&self, agent_session: &str) -> bool {
        self.unstored.contains(agent_session) || self.running.contains_key(agent_session)
    }

    /// Stores what was said in a session; returns the response if there was nothing.
    pub(super) fn end(
        &mut self,
        agent_session: &str,
        ending: Ending,
        response: Option<Response>,
    ) -> Option<Response> {
        let Some(Turn { chat_id, id, updates, live, .. }) = self.running.remove(agent_session)
        else {
            return response;
        };
        match Chats::turn(id, updates, ending) {
            Ok(turn) => {
                let (agent_session, stream_id) = (agent_session.to_owned(), None);
                let attempt = Attempt { agent_session, chat_id, stream_id, turn, response };
                self.attempt(attempt, live, Duration::ZERO);
                None
            }
            Err(error) => {
                tracing::error!(%error, "what the agent said has no id");
                response
            }
        }
    }

    /// Ends what an agent says by itself in one session, once its answer before that is stored.
    pub(super) fn end_unprompted(&mut self, agent_session: &str) {
        if !self.unstored.contains(agent_session)
            && self.running.get(agent_session).is_some_and(|turn| !turn.is_prompted())
        {
            self.end(agent_session, Ending::Completed, None);
        }
    }

    /// Ends everything that is said, but for sessions whose last answer is being stored.
    pub(super) fn end_all(&mut self, ending: impl Fn() -> Ending) {
        let sessions = self.running.keys().filter(|session| !self.unstored.contains(*session));
        for session in sessions.cloned().collect::<Vec<_>>() {
            self.end_unprompted(&session);
            self.end(&session, ending(), None);
        }
    }

    /// Tries again to store an answer.
    pub(super) fn retry(&mut self, attempt: Attempt) {
        self.attempt(attempt, None, PAUSE);
    }

    fn attempt(&mut self, mut attempt: Attempt, live: Option<Live>, pause: Duration) {
        self.unstored.insert(attempt.agent_session.clone());
        let chats = self.chats;
        let storing = async move {
            sleep(pause).await;
            if let Some(live) = live {
                attempt.stream_id = live.end().await;
            }
            let Attempt { chat_id, stream_id, turn, .. } = &attempt;
            let outcome = chats.store(chat_id, stream_id.as_ref(), turn.clone()).await;
            (attempt, outcome)
        };
        self.storing.push(storing.boxed());
    }

    /// Waits for the end of an attempt to store an answer; stores what was said without a prompt meanwhile.
    ///
    /// The caller tries again, or gives the session free.
    pub(super) async fn next(&mut self) -> (Attempt, Result<(), StoreError>) {
        loop {
            let unprompted = |(session, turn): (&String, &Turn)| {
                let is_waiting = turn.is_prompted() || self.unstored.contains(session);
                (!is_waiting).then(|| (turn.heard_at + QUIET, session.clone()))
            };
            let quiet = self.running.iter().filter_map(unprompted).min();
            let is_quiet = async {
                match quiet {
                    Some((at, session)) => {
                        sleep_until(at).await;
                        session
                    }
                    None => pending().await,
                }
            };
            tokio::select! {
                Some(stored) = self.storing.next() => return stored,
                session = is_quiet => self.end_unprompted(&session),
            }
        }
    }

    /// An answer is stored, or lost.
    pub(super) fn give_free(&mut self, agent_session: &str) {
        self.unstored.remove(agent_session);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.storing.is_empty()
    }

    /// Returns the sessions in which something is not stored.
    pub(super) fn left(&self) -> impl Iterator<Item = &str> {
        let running = self.running.keys().filter(|session| !self.unstored.contains(*session));
        self.unstored.iter().chain(running).map(String::as_str)
    }
}
