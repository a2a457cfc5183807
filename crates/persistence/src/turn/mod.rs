//! Records a turn while it runs, and writes it once, at its end.
//!
//! The recorder keeps everything in memory until then: the messages, with the deltas of streamed
//! messages merged, and the steps with their input, output, shared space and call stack.
//! [`TurnRecorder::finish`] writes the turn. A recorder that is dropped before, by a panic or a
//! cancelled task, writes the turn as interrupted, in a task of the runtime on which it was
//! created. If that runtime shuts down or the process dies at that moment, the turn is lost.
//!
//! ```
//! use std::sync::Arc;
//!
//! use persistence::memory::MemoryStore;
//! use persistence::turn::TurnRecorder;
//! use persistence::{Store, ensure_chat};
//! use records::{
//!     AppId, ChatId, MessageBody, NewChatSession, Scope, TurnId, TurnMessage, TurnOutcome, WorkflowName,
//! };
//!
//! # #[tokio::main]
//! # async fn main() -> anyhow::Result<()> {
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
//! let scope = Scope::service(AppId::parse("acme_corp")?);
//! let chat_id = ChatId::parse("trip-1")?;
//! let chat = NewChatSession {
//!     chat_id: Some(chat_id.clone()),
//!     ..NewChatSession::of(WorkflowName::parse("Trip")?)
//! };
//! ensure_chat(store.as_ref(), &scope, chat).await?;
//!
//! let turn_id = TurnId::parse("turn-1")?;
//! let turn = TurnRecorder::begin(Arc::clone(&store), scope.clone(), chat_id.clone(), turn_id);
//! let body = MessageBody::new("assistant", Some("planner"), "Begin at the river.");
//! turn.add(None, TurnMessage { body, author: None })?;
//! assert!(store.get_message(&scope, &chat_id, 0).await.is_err(), "the turn still runs");
//!
//! turn.finish(TurnOutcome::Completed).await?;
//! let stored = store.get_message(&scope, &chat_id, 0).await?;
//! assert_eq!(stored.body.content, "Begin at the river.");
//! # Ok(())
//! # }
//! ```

mod buffer;
mod path;

pub use buffer::TurnBuffer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use records::{ChatId, JsonObject, NewTurn, Scope, Step, TurnId, TurnMessage, TurnOutcome};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::StoreError;
use crate::store::{AppendedTurn, Store};

/// The reason why something cannot be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// No message was added under that key.
    #[error("there is no message {0}")]
    UnknownMessage(String),
    /// The message is already complete.
    #[error("message {0} is complete")]
    CompleteMessage(String),
    /// The path does not exist in the message.
    #[error("message {key} has no {path}")]
    NoSuchPath {
        /// The key of the message.
        key: String,
        /// The path.
        path: String,
    },
    /// Text was to be appended to a value that is not text.
    #[error("{path} of message {key} is not text")]
    NotText {
        /// The key of the message.
        key: String,
        /// The path.
        path: String,
    },
    /// There is no step with that number, or it has ended.
    #[error("step {0} is not running")]
    NoSuchStep(usize),
    /// The turn has ended.
    #[error("the turn has ended")]
    Ended,
}

/// Records one turn of a chat.
///
/// Clones record the same turn: pass them to the tools and assistants that the turn calls.
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
    /// The turn has ended. `is_settled` is set once its outcome is known to the caller, so that the
    /// drop need not write it.
    Ended {
        turn: NewTurn,
        is_settled: bool,
    },
}

impl TurnRecorder {
    /// Creates the recorder of a turn. It must be called within a Tokio runtime, which writes the
    /// turn if the recorder is dropped.
    pub fn begin(store: Arc<dyn Store>, scope: Scope, chat_id: ChatId, request_id: TurnId) -> Self {
        let state = Mutex::new(State::Recording(TurnBuffer::default()));
        let runtime = Handle::current();
        Self(Arc::new(Inner { store, scope, chat_id, request_id, state, runtime }))
    }

    /// Sets the connector to the model that is used.
    pub fn set_connector(&self, connector: impl Into<String>) -> Result<(), TurnError> {
        self.record(|turn| turn.connector = Some(connector.into()))
    }

    /// Sets the mode of the turn.
    pub fn set_mode(&self, mode: impl Into<String>) -> Result<(), TurnError> {
        self.record(|turn| turn.mode = Some(mode.into()))
    }

    /// Adds a message, complete or the beginning of a streamed one; see [`TurnBuffer::add`].
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

    /// Completes a streamed message, and returns its content.
    pub fn complete(&self, key: &str) -> Result<Value, TurnError> {
        self.record(|turn| turn.complete(key))?
    }

    /// Sets a value in the space that steps share; null removes it.
    pub fn set_space(&self, name: &str, value: Value) -> Result<(), TurnError> {
        self.record(|turn| turn.set_space(name, value))
    }

    /// Returns the space that steps share.
    pub fn space(&self) -> Result<JsonObject, TurnError> {
        self.record(|turn| turn.space().clone())
    }

    /// Begins a step with the current space; returns its number.
    pub fn begin_step(&self, step: Step) -> Result<usize, TurnError> {
        self.record(|turn| turn.begin_step(step))
    }

    /// Completes a step.
    pub fn complete_step(&self, step: usize, output: Option<JsonObject>) -> Result<(), TurnError> {
        self.record(|turn| turn.complete_step(step, output))?
    }

    /// Ends a step with an error, and with the output it produced before.
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
    /// After an error it may be called again, and then writes the same turn. The write continues if
    /// the caller is cancelled. A turn without messages and steps is
    /// [`Invalid`](StoreError::Invalid).
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
                tracing::error!(%chat_id, %request_id, error, "failed to write a turn whose recorder was dropped; it is lost");
            }
        });
    }
}
