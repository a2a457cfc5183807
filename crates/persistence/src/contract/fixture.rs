//! A chat of its own for each promise, and short words for what goes into it.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use futures::future::join_all;
use records::{
    AppId, Artifact, Caller, ChatId, ChatSession, ChatStatus, Clock as _, ContextSnapshot, EventId,
    Ids as _, InvalidKind, JsonObject, Message, MessageBody, MessageEdit, NewArtifact,
    NewChatSession, NewMessage, Scope, SystemClock, TeamId, UserId, Uuid7Ids, WorkflowName,
};
use serde_json::Value;

use crate::{Append, MessageRange, Outcome, Store, StoreError, Transcript};

/// A chat, the scope it is used in, and every store call on it.
#[derive(Debug, Clone)]
pub(super) struct TestChat {
    pub(super) store: Arc<dyn Store>,
    pub(super) scope: Scope,
    pub(super) id: ChatId,
}

/// All that a store holds of a chat.
#[derive(Debug, PartialEq)]
pub(super) struct Whole {
    pub(super) session: ChatSession,
    pub(super) messages: Vec<Message>,
    pub(super) context: ContextSnapshot,
    pub(super) artifact: Option<Artifact>,
}

impl TestChat {
    /// Creates a chat in an app of its own.
    pub(super) async fn create(store: &Arc<dyn Store>) -> Self {
        Self::create_from(store, new_chat()).await
    }

    /// Creates that chat in an app of its own.
    pub(super) async fn create_from(store: &Arc<dyn Store>, new: NewChatSession) -> Self {
        Self::create_in(&some_scope(), store, new).await
    }

    /// Creates that chat.
    pub(super) async fn create_in(
        scope: &Scope,
        store: &Arc<dyn Store>,
        new: NewChatSession,
    ) -> Self {
        let session = store.create_chat(scope, new).await.unwrap();
        Self { store: Arc::clone(store), scope: scope.clone(), id: session.chat_id }
    }

    /// Names a chat that nobody has created.
    pub(super) fn unknown(store: &Arc<dyn Store>) -> Self {
        Self { store: Arc::clone(store), scope: some_scope(), id: ChatId::mint(&Uuid7Ids) }
    }

    /// The same chat, asked for in another scope.
    pub(super) fn seen_from(&self, scope: Scope) -> Self {
        Self { scope, ..self.clone() }
    }

    /// The same chat, asked for by a user of its app.
    pub(super) fn seen_by(&self, user: &str, team: Option<&str>) -> Self {
        let caller = Caller::User {
            user_id: UserId::parse(user).unwrap(),
            team_id: team.map(|team| TeamId::parse(team).unwrap()),
        };
        self.seen_from(Scope { caller, ..self.scope.clone() })
    }

    /// Reads everything about it.
    pub(super) async fn whole(&self) -> Whole {
        Whole {
            session: self.session().await,
            messages: self.history().await.unwrap(),
            context: self.load_context().await.unwrap(),
            artifact: self.get_artifact().await.unwrap(),
        }
    }

    /// Appends so much that the messages before it are no longer among the newest in any sense.
    pub(super) async fn bury(&self) {
        for batch in 0..10 {
            let messages = (0..50).map(|n| message(format!("filler {batch}/{n}")));
            self.append(messages).await.unwrap();
        }
    }

    pub(super) async fn get(&self) -> Result<Option<ChatSession>, StoreError> {
        self.store.get_chat(&self.scope, &self.id).await
    }

    pub(super) async fn session(&self) -> ChatSession {
        self.get().await.unwrap().unwrap()
    }

    pub(super) async fn set_status(
        &self,
        next: ChatStatus,
        reason: Option<&str>,
    ) -> Result<ChatSession, StoreError> {
        self.store.set_status(&self.scope, &self.id, next, reason).await
    }

    pub(super) async fn append(
        &self,
        messages: impl IntoIterator<Item = NewMessage>,
    ) -> Result<Append, StoreError> {
        let messages = messages.into_iter().collect();
        self.store.append(&self.scope, &self.id, messages).await
    }

    pub(super) async fn persist_initial(
        &self,
        messages: impl IntoIterator<Item = NewMessage>,
    ) -> Result<Append, StoreError> {
        let messages = messages.into_iter().collect();
        self.store.persist_initial_messages(&self.scope, &self.id, messages).await
    }

    pub(super) async fn messages(&self, range: MessageRange) -> Result<Transcript, StoreError> {
        self.store.messages(&self.scope, &self.id, range).await
    }

    pub(super) async fn history(&self) -> Result<Vec<Message>, StoreError> {
        self.store.history(&self.scope, &self.id).try_collect().await
    }

    pub(super) async fn get_message(&self, sequence: u64) -> Result<Message, StoreError> {
        self.store.get_message(&self.scope, &self.id, sequence).await
    }

    pub(super) async fn update_message(
        &self,
        sequence: u64,
        edit: MessageEdit,
    ) -> Result<Message, StoreError> {
        self.store.update_message(&self.scope, &self.id, sequence, edit).await
    }

    pub(super) async fn delete_message(&self, sequence: u64) -> Result<Message, StoreError> {
        self.store.delete_message(&self.scope, &self.id, sequence).await
    }

    pub(super) async fn replace_context(
        &self,
        data: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        self.store.update_context_snapshot(&self.scope, &self.id, data).await
    }

    pub(super) async fn merge_context(
        &self,
        patch: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        self.store.merge_context_snapshot(&self.scope, &self.id, patch).await
    }

    pub(super) async fn load_context(&self) -> Result<ContextSnapshot, StoreError> {
        self.store.load_context_snapshot(&self.scope, &self.id).await
    }

    pub(super) async fn update_artifact(
        &self,
        artifact: NewArtifact,
    ) -> Result<Artifact, StoreError> {
        self.store.update_last_artifact(&self.scope, &self.id, artifact).await
    }

    pub(super) async fn get_artifact(&self) -> Result<Option<Artifact>, StoreError> {
        self.store.get_last_artifact(&self.scope, &self.id).await
    }

    pub(super) async fn clear_artifact(&self) -> Result<(), StoreError> {
        self.store.clear_last_artifact(&self.scope, &self.id).await
    }
}

/// The service's scope on an app that no other test uses.
pub(super) fn some_scope() -> Scope {
    Scope::service(AppId::parse(Uuid7Ids.mint("app_")).unwrap())
}

pub(super) fn new_chat() -> NewChatSession {
    NewChatSession::of(workflow("research"))
}

pub(super) fn workflow(name: &str) -> WorkflowName {
    WorkflowName::parse(name).unwrap()
}

/// A message of the user, without an id.
pub(super) fn message(content: impl Into<Value>) -> NewMessage {
    MessageBody::new("user", Some("Ada"), content).into()
}

/// A message of the user with an id.
pub(super) fn event(id: &str, content: impl Into<Value>) -> NewMessage {
    NewMessage { event_id: Some(event_id(id)), ..message(content) }
}

pub(super) fn event_id(id: &str) -> EventId {
    EventId::parse(id).unwrap()
}

/// Messages that say their numbers.
pub(super) fn numbered(numbers: std::ops::Range<usize>) -> Vec<NewMessage> {
    numbers.map(message).collect()
}

/// An edit of the content alone.
pub(super) fn new_content(content: impl Into<Value>) -> MessageEdit {
    MessageEdit { content: Some(content.into()), ..MessageEdit::default() }
}

/// The object that a `json!({…})` literal is.
pub(super) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}

/// Arrays within arrays, so many levels of them.
pub(super) fn nested(levels: usize) -> Value {
    (1..levels).fold(Value::Array(Vec::new()), |inner, _| Value::Array(vec![inner]))
}

pub(super) fn sequences(append: &Append) -> Vec<u64> {
    append.messages.iter().map(|m| m.sequence).collect()
}

pub(super) fn outcomes(append: &Append) -> Vec<Outcome> {
    append.messages.iter().map(|m| m.outcome).collect()
}

pub(super) fn contents(messages: &[Message]) -> Vec<Value> {
    messages.iter().map(|m| m.body.content.clone()).collect()
}

/// Asserts that the messages have the sequences 0, 1, 2, … in this order.
#[track_caller]
pub(super) fn assert_dense(messages: &[Message]) {
    let sequences: Vec<u64> = messages.iter().map(|m| m.sequence).collect();
    let expected: Vec<u64> = (0..messages.len() as u64).collect();
    assert_eq!(sequences, expected);
}

/// Asserts that a call was refused with this very error.
#[track_caller]
pub(super) fn assert_refused<T: std::fmt::Debug>(
    result: Result<T, StoreError>,
    expected: &StoreError,
) {
    let error = result.unwrap_err();
    assert_eq!(format!("{error:?}"), format!("{expected:?}"));
}

/// Asserts that a call was refused because of the field at `pointer`.
#[track_caller]
pub(super) fn assert_invalid<T: std::fmt::Debug>(
    result: Result<T, StoreError>,
    pointer: &str,
    kind: InvalidKind,
) {
    match result {
        Err(StoreError::Invalid(invalid)) => {
            assert_eq!((invalid.pointer.as_str(), invalid.kind), (pointer, kind), "{invalid}");
        }
        other => panic!("expected an objection to {pointer}, got {other:?}"),
    }
}

/// Runs every racer in a task of its own, all at once; answers in the order of the racers.
pub(super) async fn race<F>(racers: impl IntoIterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let tasks: Vec<_> = racers.into_iter().map(tokio::spawn).collect();
    let answers = join_all(tasks).await;
    answers.into_iter().map(Result::unwrap).collect()
}

/// Waits until the clock shows another millisecond, so that a time set anew would differ.
pub(super) async fn a_moment_passes() -> DateTime<Utc> {
    let before = SystemClock.now();
    loop {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let now = SystemClock.now();
        if now > before {
            return now;
        }
    }
}
