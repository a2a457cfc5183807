//! The notifications of changes, and the heads of chats.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use records::{CallId, ChatId, ChatStatus, Lifecycle, NewArtifact, NewProviderCall, SessionChange};
use serde_json::json;
use tokio::time::timeout;

use super::fixture::{
    TestChat, assert_refused, message, new_content, numbered, object, race, some_scope,
};
use persistence::{Billing, Change, ChatChange, ChatHead, Interest, Store, StoreError};

/// Long enough for any store to deliver its notifications.
const MAX_WAIT: Duration = Duration::from_secs(30);

pub async fn listeners_receive_every_append(store: Arc<dyn Store>) {
    let chats = [TestChat::create(&store).await, TestChat::create(&store).await];
    let mut told = ChangeListener::listen(&store).await;
    for chat in &chats {
        chat.append([message("one"), message("two")]).await.unwrap();
        chat.append([message("three")]).await.unwrap();
    }
    for chat in &chats {
        told.until(&chat.id, |change| change.last_sequence == Some(3)).await;
    }
}

pub async fn listeners_receive_all_other_changes(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append(numbered(0..3)).await.unwrap();
    chat.append_filler().await;
    let mut told = ChangeListener::listen(&store).await;
    let is_more = |change: &ChatChange| change.last_sequence.is_none();
    let artifact = NewArtifact { payload: json!({"a": 1}), ..NewArtifact::default() };

    chat.update_message(1, new_content("sealed and changed")).await.unwrap();
    told.until(&chat.id, is_more).await;
    chat.delete_message(501).await.unwrap();
    told.until(&chat.id, is_more).await;
    chat.replace_context(object(json!({"a": 1}))).await.unwrap();
    told.until(&chat.id, is_more).await;
    chat.update_artifact(artifact).await.unwrap();
    told.until(&chat.id, is_more).await;
    chat.clear_artifact().await.unwrap();
    told.until(&chat.id, is_more).await;
    chat.set_status(ChatStatus::Paused, None).await.unwrap();
    told.until(&chat.id, is_more).await;
}

pub async fn listeners_receive_recorded_and_deleted_calls(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let mut told = ChangeListener::listen(&store).await;
    let usage = Change::Usage(chat.id.clone());
    let call_id =
        chat.record(vec![NewProviderCall::default()]).await.unwrap()[0].call.call_id.clone();
    told.until_change(&usage).await;
    let call = NewProviderCall { call_id: CallId::parse("c").ok(), ..NewProviderCall::default() };
    let messages = vec![message("with a call")];
    let exchange = store.append_exchange(&chat.scope, &chat.id, messages, call, Billing::Free);
    exchange.await.unwrap();
    told.until_change(&usage).await;
    store.delete_call(&chat.scope, &chat.id, &call_id).await.unwrap();
    told.until_change(&usage).await;
}

pub async fn the_last_change_of_racing_writers_is_received(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let mut told = ChangeListener::listen(&store).await;
    let writers = (0..8).map(|writer| {
        let chat = chat.clone();
        async move {
            for n in 0..25 {
                chat.append([message(json!([writer, n]))]).await.unwrap();
            }
        }
    });
    race(writers).await;
    told.until(&chat.id, |change| change.last_sequence == Some(200)).await;
}

pub async fn listeners_are_independent(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let mut first = ChangeListener::listen(&store).await;
    let never_read = store.changes(Interest::in_all_chats());
    let mut second = ChangeListener::listen(&store).await;
    chat.append([message("hello")]).await.unwrap();
    first.until(&chat.id, |change| change.last_sequence == Some(1)).await;
    drop(first);
    second.until(&chat.id, |change| change.last_sequence == Some(1)).await;
    drop(never_read);
}

pub async fn every_change_moves_the_head(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let mut expected = ChatHead {
        chat_id: chat.id.clone(),
        last_sequence: 0,
        revision: 0,
        recent_edits: Vec::new(),
        status: ChatStatus::Running,
        status_reason: None,
        context_version: 0,
        artifact_version: 0,
        input_version: 0,
        recent_inputs: Vec::new(),
        pending_inputs: Vec::new(),
        session_version: 0,
        lifecycle: Lifecycle::Active,
    };
    assert_eq!(head(&chat).await, expected);

    chat.append(numbered(0..3)).await.unwrap();
    expected.last_sequence = 3;
    assert_eq!(head(&chat).await, expected);

    chat.update_message(2, new_content("changed")).await.unwrap();
    chat.delete_message(0).await.unwrap();
    (expected.revision, expected.recent_edits) = (2, vec![2, 0]);
    assert_eq!(head(&chat).await, expected);
    chat.delete_message(0).await.unwrap();
    assert_eq!(head(&chat).await, expected, "nothing has changed");

    chat.replace_context(object(json!({"a": 1}))).await.unwrap();
    chat.merge_context(object(json!({"b": 1}))).await.unwrap();
    expected.context_version = 2;
    assert_eq!(head(&chat).await, expected);

    chat.update_artifact(NewArtifact::default()).await.unwrap();
    chat.clear_artifact().await.unwrap();
    chat.clear_artifact().await.unwrap();
    expected.artifact_version = 2;
    assert_eq!(head(&chat).await, expected);

    chat.set_status(ChatStatus::Paused, Some("waits")).await.unwrap();
    (expected.status, expected.status_reason) = (ChatStatus::Paused, Some("waits".to_owned()));
    assert_eq!(head(&chat).await, expected);

    chat.change(SessionChange { sort: Some(1), ..SessionChange::default() }).await.unwrap();
    expected.session_version = 1;
    assert_eq!(head(&chat).await, expected);

    chat.change(SessionChange::to_lifecycle(Lifecycle::Archived)).await.unwrap();
    (expected.session_version, expected.lifecycle) = (2, Lifecycle::Archived);
    assert_eq!(head(&chat).await, expected);
    let mut listener = ChangeListener::listen(&store).await;
    chat.append([message("again")]).await.unwrap();
    (expected.last_sequence, expected.lifecycle) = (4, Lifecycle::Active);
    assert_eq!(head(&chat).await, expected);
    listener.until(&chat.id, |change| change.last_sequence.is_none()).await;
}

pub async fn a_head_lists_the_last_edits_of_old_and_new_messages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append(numbered(0..10)).await.unwrap();
    chat.append_filler().await;
    let edited: Vec<u64> =
        (0..100).map(|n| if n % 2 == 0 { n % 10 } else { 509 - n % 10 }).collect();
    for &sequence in &edited {
        chat.update_message(sequence, new_content(format!("{sequence}"))).await.unwrap();
    }
    let head = head(&chat).await;
    assert_eq!(head.revision, 100);
    assert_eq!(head.recent_edits, edited[100 - ChatHead::RECENT_EDITS..]);
    assert_eq!(head.edits_since(35), None);
    assert_eq!(head.edits_since(99), Some(vec![(100, edited[99])]));
}

pub async fn heads_are_limited_to_the_scope(store: Arc<dyn Store>) {
    let (chat, other) = (TestChat::create(&store).await, TestChat::create(&store).await);
    let unknown = TestChat::unknown(&store);
    chat.append([message("hello")]).await.unwrap();
    let ids = [unknown.id.clone(), other.id.clone(), chat.id.clone()];
    let heads = store.heads(&chat.scope, &ids).await.unwrap();
    assert_eq!(heads, [head(&chat).await]);
    assert_eq!(store.heads(&some_scope(), &ids).await.unwrap(), []);
    assert_eq!(store.heads(&chat.scope, &[]).await.unwrap(), []);
    for hidden in [unknown, other.seen_from(chat.scope.clone())] {
        let confirmed = store.confirmed_head(&hidden.scope, &hidden.id).await;
        assert_refused(confirmed, &StoreError::ChatNotFound(hidden.id.clone()));
    }
}

/// Reads the head of a chat, and asserts that both calls return the same.
async fn head(chat: &TestChat) -> ChatHead {
    let confirmed = chat.store.confirmed_head(&chat.scope, &chat.id).await.unwrap();
    let ids = [chat.id.clone()];
    assert_eq!(
        chat.store.heads(&chat.scope, &ids).await.unwrap(),
        std::slice::from_ref(&confirmed)
    );
    confirmed
}

/// The changes that one listener receives.
struct ChangeListener(BoxStream<'static, Change>);

impl ChangeListener {
    /// Starts to listen, and waits until every later change is delivered.
    async fn listen(store: &Arc<dyn Store>) -> Self {
        let mut told = Self(store.changes(Interest::in_all_chats()));
        while told.next().await != Change::Began {}
        assert!(store.delivers_changes());
        told
    }

    async fn next(&mut self) -> Change {
        let next = timeout(MAX_WAIT, self.0.next()).await;
        next.unwrap().unwrap()
    }

    async fn until_change(&mut self, change: &Change) {
        while self.next().await != *change {}
    }

    /// Waits for a change of the chat that matches.
    async fn until(&mut self, chat_id: &ChatId, is_it: impl Fn(&ChatChange) -> bool) {
        loop {
            let Change::Chat(change) = self.next().await else { continue };
            if change.chat_id == *chat_id && is_it(&change) {
                return;
            }
        }
    }
}
