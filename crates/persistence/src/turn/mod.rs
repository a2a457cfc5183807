//! Records a turn while it is carried out, and writes it once, at its end.
//!
//! What is recorded lies in memory until then: the messages as they come, streamed ones merged from their
//! deltas, and the steps with what they are given, what comes of them, the shared space and the call stack.
//! [`TurnRecorder::finish`] writes it. A recorder that is dropped before that, by a panic or a task that is
//! cancelled, writes it as interrupted, on a task of the runtime that it was begun on: a runtime that shuts
//! down at that moment, or a process that dies, takes the turn with it.

mod buffer;
mod path;

pub use buffer::TurnBuffer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use records::{ChatId, JsonObject, NewTurn, Scope, Step, TurnId, TurnMessage, TurnOutcome};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::StoreError;
use crate::store::{AppendedTurn, Store};

/// Why something cannot be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// No message was added under that key.
    #[error("there is no message {0}")]
    UnknownMessage(String),
    /// The message was completed already.
    #[error("message {0} is complete")]
    CompleteMessage(String),
    /// The path leads nowhere in the message.
    #[error("message {key} has no {path}")]
    NoSuchPath {
        /// The key of the message.
        key: String,
        /// The path.
        path: String,
    },
    /// A text was to be added to something else.
    #[error("{path} of message {key} is no text")]
    NotText {
        /// The key of the message.
        key: String,
        /// The path.
        path: String,
    },
    /// No step was begun under that number, or it has ended.
    #[error("no step {0} is under way")]
    NoSuchStep(usize),
    /// The turn has ended.
    #[error("the turn has ended")]
    Ended,
}

/// Records one turn of a chat.
///
/// Clones record the same turn: hand them to the tools and assistants that a turn calls.
#[derive(Debug, Clone)]
pub struct TurnRecorder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    scope: Scope,
    chat_id: ChatId,
    request_id: TurnId,
    state: Mutex<State>,
    runtime: Handle,
}

#[derive(Debug)]
enum State {
    Recording(TurnBuffer),
    /// It has ended. Once it is known what became of it, the caller knows, and nothing is left to do.
    Ended {
        turn: NewTurn,
        is_settled: bool,
    },
}

impl TurnRecorder {
    /// Begins to record a turn. To be called within a runtime of Tokio, on which the turn is written if
    /// the recorder is dropped.
    pub fn begin(store: Arc<dyn Store>, scope: Scope, chat_id: ChatId, request_id: TurnId) -> Self {
        let state = Mutex::new(State::Recording(TurnBuffer::default()));
        let runtime = Handle::current();
        Self(Arc::new(Inner { store, scope, chat_id, request_id, state, runtime }))
    }

    /// Notes the connector to the model that is used.
    pub fn set_connector(&self, connector: impl Into<String>) -> Result<(), TurnError> {
        self.record(|turn| turn.connector = Some(connector.into()))
    }

    /// Notes the mode of the turn.
    pub fn set_mode(&self, mode: impl Into<String>) -> Result<(), TurnError> {
        self.record(|turn| turn.mode = Some(mode.into()))
    }

    /// Adds a message, whole or the beginning of a streamed one; see [`TurnBuffer::add`].
    pub fn add(&self, key: Option<&str>, message: TurnMessage) -> Result<(), TurnError> {
        self.record(|turn| turn.add(key, message)).map(|_| ())
    }

    /// Adds a delta to a streamed message; see [`TurnBuffer::append`].
    pub fn append(&self, key: &str, path: &str, text: &str) -> Result<(), TurnError> {
        self.record(|turn| turn.append(key, path, text))?
    }

    /// Replaces a part of a streamed message; see [`TurnBuffer::replace`].
    pub fn replace(&self, key: &str, path: &str, value: Value) -> Result<(), TurnError> {
        self.record(|turn| turn.replace(key, path, value))?
    }

    /// Ends a streamed message, and returns its content.
    pub fn complete(&self, key: &str) -> Result<Value, TurnError> {
        self.record(|turn| turn.complete(key))?
    }

    /// Sets a value in the space that steps share; null takes it out.
    pub fn set_space(&self, name: &str, value: Value) -> Result<(), TurnError> {
        self.record(|turn| turn.set_space(name, value))
    }

    /// Returns the space that steps share.
    pub fn space(&self) -> Result<JsonObject, TurnError> {
        self.record(|turn| turn.space().clone())
    }

    /// Begins a step, with the space as it is now; returns its number.
    pub fn begin_step(&self, step: Step) -> Result<usize, TurnError> {
        self.record(|turn| turn.begin_step(step))
    }

    /// Ends a step that was done.
    pub fn complete_step(&self, step: usize, output: Option<JsonObject>) -> Result<(), TurnError> {
        self.record(|turn| turn.complete_step(step, output))?
    }

    /// Ends a step that met an error, with what came of it before.
    pub fn fail_step(
        &self,
        step: usize,
        error: impl Into<String>,
        output: Option<JsonObject>,
    ) -> Result<(), TurnError> {
        self.record(|turn| turn.fail_step(step, error.into(), output))?
    }

    /// Ends the turn and writes it.
    ///
    /// After an error it may be called again, and then writes the same; a caller that stops waiting stops
    /// nothing. A turn with nothing in it is [`Invalid`](StoreError::Invalid).
    pub async fn finish(&self, outcome: TurnOutcome) -> Result<AppendedTurn, StoreError> {
        let turn = self.0.end(outcome);
        let inner = Arc::clone(&self.0);
        let writing = self.0.runtime.spawn(async move {
            let written = inner.store.append_turn(&inner.scope, &inner.chat_id, turn).await;
            let is_known = !matches!(written, Err(StoreError::OutcomeUnknown { .. }));
            if let State::Ended { is_settled, .. } = &mut *inner.state() {
                *is_settled = is_known;
            }
            written
        });
        writing.await.unwrap_or_else(|gone| Err(StoreError::OutcomeUnknown { source: gone.into() }))
    }

    fn record<T>(&self, record: impl FnOnce(&mut TurnBuffer) -> T) -> Result<T, TurnError> {
        match &mut *self.0.state() {
            State::Recording(buffer) => Ok(record(buffer)),
            State::Ended { .. } => Err(TurnError::Ended),
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the turn, unless it has ended, and returns it.
    fn end(&self, outcome: TurnOutcome) -> NewTurn {
        let mut state = self.state();
        let turn = match &mut *state {
            State::Ended { turn, .. } => return turn.clone(),
            State::Recording(buffer) => {
                std::mem::take(buffer).finish(self.request_id.clone(), outcome)
            }
        };
        *state = State::Ended { turn: turn.clone(), is_settled: false };
        turn
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let is_settled = matches!(*self.state(), State::Ended { is_settled: true, .. });
        let turn = self.end(TurnOutcome::Interrupted);
        if is_settled || turn.messages.is_empty() && turn.steps.is_empty() {
            return;
        }
        let (store, scope, chat_id) =
            (Arc::clone(&self.store), self.scope.clone(), self.chat_id.clone());
        self.runtime.spawn(async move {
            let request_id = turn.request_id.clone();
            if let Err(error) = store.append_turn(&scope, &chat_id, turn).await {
                let error: &dyn std::error::Error = &error;
                tracing::error!(%chat_id, %request_id, error, "a turn that was dropped is lost");
            }
        });
    }
}
