//! Messages and the call that produced them.

use std::sync::Arc;

use records::InvalidKind::Value as NotAdmitted;
use records::{CallId, ChatStatus, MessageBody, NewMessage, NewProviderCall, Usage};
use serde_json::{Value, json};

use super::fixture::{
    TestChat, assert_dense, assert_invalid, assert_refused, event, message, numbered, race,
    sequences,
};
use persistence::{Billing, ChatHead, Exchange, Outcome, Store, StoreError};

pub async fn an_exchange_stores_messages_and_their_call(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append(vec![message("before")]).await.unwrap();
    let messages = vec![event("q", "question"), said("a", "answer"), linked("t", Some("call_0"))];
    let exchange = exchange(&chat, messages, call("call_1")).await.unwrap();
    assert_eq!((sequences(&exchange.append), exchange.append.last_sequence), (vec![1, 2, 3], 4));
    assert_eq!(
        (exchange.call.outcome, exchange.call.call.call_id.as_str()),
        (Outcome::Stored, "call_1")
    );
    let links = links(&chat).await;
    assert_eq!(links, [None, None, Some(json!("call_1")), Some(json!("call_0"))]);
    assert_eq!((chat.usage().await.calls, chat.calls().await.len()), (1, 1));
}

pub async fn a_repeated_exchange_gets_the_first_answer(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let messages = || vec![event("q", "question"), said("a", "answer")];
    let first = exchange(&chat, messages(), call("call_1")).await.unwrap();
    chat.append(vec![message("between")]).await.unwrap();
    let again = exchange(&chat, messages(), call("call_1")).await.unwrap();
    assert_eq!(sequences(&again.append), sequences(&first.append));
    assert_eq!(again.call.outcome, Outcome::Duplicate);
    assert_eq!(again.call.call, first.call.call);
    // A repeated exchange stores its new messages.
    let longer = [messages(), vec![event("more", "more")]].concat();
    let longer = exchange(&chat, longer, call("call_1")).await.unwrap();
    assert_eq!(sequences(&longer.append), [0, 1, 3]);
    assert_eq!(chat.usage().await.calls, 1);
    assert_dense(&chat.history().await.unwrap());
}

pub async fn an_exchange_is_refused_as_a_whole(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    exchange(&chat, vec![event("q", "question")], call("call_1")).await.unwrap();
    let before = chat.whole().await;
    let other_call = NewProviderCall { prompt_tokens: 9, ..call("call_1") };
    let refused = exchange(&chat, vec![event("new", "new")], other_call).await;
    let (chat_id, call_id) = (chat.id.clone(), call_id("call_1"));
    assert_refused(refused, &StoreError::CallConflict { chat_id, call_id, index: 0 });
    let other_message = vec![event("new", "new"), event("q", "another question")];
    let refused = exchange(&chat, other_message, call("call_2")).await;
    assert!(matches!(refused, Err(StoreError::EventConflict { index: 1, .. })));
    let nameless = NewProviderCall::default();
    assert_invalid(exchange(&chat, numbered(0..1), nameless).await, "/call/call_id", NotAdmitted);
    let endless = NewProviderCall { duration_ms: u64::MAX, ..call("call_3") };
    assert_invalid(
        exchange(&chat, numbered(0..1), endless).await,
        "/call/duration_ms",
        NotAdmitted,
    );
    assert_invalid(exchange(&chat, Vec::new(), call("call_3")).await, "/messages", NotAdmitted);
    let odd = vec![linked("odd", Some("\n"))];
    let pointer = "/messages/0/produced_by_call_id";
    assert_invalid(exchange(&chat, odd, call("call_3")).await, pointer, NotAdmitted);
    assert_eq!(chat.whole().await, before);
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    let refused = exchange(&chat, vec![event("late", "late")], call("call_4")).await;
    assert!(matches!(refused, Err(StoreError::ChatEnded { .. })));
    assert_eq!((chat.usage().await.calls, chat.calls().await.len()), (1, 1));
}

pub async fn an_exchange_with_an_unknown_chat_changes_nothing(store: Arc<dyn Store>) {
    let unknown = TestChat::unknown(&store);
    let not_found = StoreError::ChatNotFound(unknown.id.clone());
    assert_refused(exchange(&unknown, numbered(0..1), call("call_1")).await, &not_found);
    assert_refused(delete(&unknown, "call_1").await, &not_found);
}

pub async fn a_deleted_call_is_excluded_from_usage_and_keeps_its_messages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    exchange(&chat, vec![said("a", "answer")], call("call_1")).await.unwrap();
    exchange(&chat, vec![said("b", "another")], call("call_2")).await.unwrap();
    // Some of the messages are no longer in the tail.
    chat.append(numbered(0..100)).await.unwrap();
    exchange(&chat, vec![said("c", "the last")], call("call_3")).await.unwrap();
    chat.append(vec![linked("d", Some("call_1")), linked("e", None)]).await.unwrap();
    delete(&chat, "call_1").await.unwrap();
    let links = links(&chat).await;
    let of = |sequence: usize| links[sequence].clone();
    assert_eq!([of(0), of(1)], [Some(Value::Null), Some(json!("call_2"))]);
    assert_eq!(
        [of(102), of(103), of(104)],
        [Some(json!("call_3")), Some(Value::Null), Some(Value::Null)]
    );
    let ids: Vec<_> = chat.calls().await.into_iter().map(|call| call.call_id).collect();
    assert!(!ids.contains(&call_id("call_1")) && ids.len() == 2);
    assert_eq!(chat.usage().await.calls, 2);
    let session = chat.session().await;
    let stats = store.workflow_stats(&session.app_id, &session.workflow_name).await.unwrap();
    assert_eq!(stats.total.usage(), chat.usage().await);
    // Again it changes nothing.
    delete(&chat, "call_1").await.unwrap();
    assert_eq!(chat.usage().await.calls, 2);
    // A message that was appended with the link is still recognised by its id.
    let again = chat.append(vec![linked("d", Some("call_1"))]).await.unwrap();
    assert_eq!(sequences(&again), [103]);
    delete(&chat, "call_2").await.unwrap();
    delete(&chat, "call_3").await.unwrap();
    assert_eq!(chat.usage().await, Usage::default());
}

pub async fn the_messages_of_a_deleted_call_count_as_edited(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let exchange_many = async |id: &str, count: usize| {
        let messages = (0..count).map(|n| said(&format!("{id}{n}"), "said")).collect();
        exchange(&chat, messages, call(id)).await.unwrap();
    };
    for (id, count) in [("sealed", 2), ("both", 2), ("many", 100), ("none", 1)] {
        exchange_many(id, count).await;
    }
    chat.delete_message(104).await.unwrap();
    chat.append_filler().await;
    exchange_many("tail", 2).await;
    chat.append([message("between"), linked("linked", Some("both"))]).await.unwrap();

    let mut revision = 1;
    for (id, unlinked) in [
        ("none", vec![]),
        ("sealed", vec![0, 1]),
        ("both", vec![2, 3, 608]),
        ("tail", vec![605, 606]),
    ] {
        delete(&chat, id).await.unwrap();
        let head = head(&chat).await;
        let edits: Vec<_> = (revision + 1..).zip(unlinked).collect();
        assert_eq!(head.revision, revision + edits.len() as u64, "{id}");
        assert_eq!(head.edits_since(revision), Some(edits), "{id}");
        revision = head.revision;
    }
    let before = head(&chat).await;
    delete(&chat, "tail").await.unwrap();
    assert_eq!(head(&chat).await, before);

    delete(&chat, "many").await.unwrap();
    let head = head(&chat).await;
    assert_eq!(head.revision, revision + 100);
    let last = 104 - ChatHead::RECENT_EDITS as u64..104;
    assert_eq!(head.recent_edits, last.collect::<Vec<_>>());
}

pub async fn racing_exchanges_and_appends_share_one_order(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let racers = (0..24).map(|racer| {
        let chat = chat.clone();
        async move {
            if racer % 3 == 0 {
                drop(chat.append(numbered(0..2)).await.unwrap());
            } else {
                // Two racing callers send each exchange.
                let n = racer / 3 * 2 + (racer % 3 - 1) / 2;
                let messages = vec![event(&format!("q{n}"), "q"), said(&format!("a{n}"), "a")];
                drop(exchange(&chat, messages, call(&format!("call_{n}"))).await.unwrap());
            }
        }
    });
    race(racers).await;
    let messages = chat.history().await.unwrap();
    assert_dense(&messages);
    assert_eq!((messages.len(), chat.usage().await.calls), (8 * 2 + 8 * 2, 8));
    for pair in messages.windows(2).filter(|pair| pair[0].event_id.as_str().starts_with('q')) {
        assert_eq!(pair[1].event_id.as_str()[1..], pair[0].event_id.as_str()[1..]);
    }
}

async fn exchange(
    chat: &TestChat,
    messages: Vec<NewMessage>,
    call: NewProviderCall,
) -> Result<Exchange, StoreError> {
    chat.store.append_exchange(&chat.scope, &chat.id, messages, call, Billing::Free).await
}

async fn delete(chat: &TestChat, id: &str) -> Result<(), StoreError> {
    chat.store.delete_call(&chat.scope, &chat.id, &call_id(id)).await
}

async fn head(chat: &TestChat) -> ChatHead {
    chat.store.confirmed_head(&chat.scope, &chat.id).await.unwrap()
}

/// Returns the call that each message names as its origin.
async fn links(chat: &TestChat) -> Vec<Option<Value>> {
    let messages = chat.history().await.unwrap();
    let link =
        |message: records::Message| message.body.extra.get(MessageBody::PRODUCED_BY).cloned();
    messages.into_iter().map(link).collect()
}

/// Makes a message of an assistant.
fn said(id: &str, content: &str) -> NewMessage {
    let body = MessageBody::new("assistant", Some("planner"), content);
    NewMessage { body, ..event(id, content) }
}

/// Makes a message that names its call itself.
fn linked(id: &str, call: Option<&str>) -> NewMessage {
    let mut message = said(id, "linked");
    message.body.extra.insert(MessageBody::PRODUCED_BY.to_owned(), json!(call));
    message
}

fn call(id: &str) -> NewProviderCall {
    NewProviderCall { call_id: Some(call_id(id)), prompt_tokens: 12, ..NewProviderCall::default() }
}

fn call_id(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}
