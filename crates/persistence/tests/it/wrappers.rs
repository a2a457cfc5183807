//! The wrappers keep the contract of the store within, and count the calls to it.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use persistence::Store;
use persistence::memory::MemoryStore;
use persistence::mongo::{MongoOptions, MongoStore};
use persistence::wrappers::Traced;
use records::{
    AppId, ChatId, ChatStatus, EventId, MessageBody, NewChatSession, NewMessage, Scope,
    WorkflowName,
};
use store_contract::metrics::count;

store_contract::contract_tests!(traced);

fn traced() -> Ready<(Arc<dyn Store>, ())> {
    ready((Arc::new(Traced::new(MemoryStore::default(), Duration::ZERO)), ()))
}

fn scope() -> Scope {
    Scope::service(AppId::parse("acme_corp").unwrap())
}

fn message(event_id: &str, content: &str) -> Vec<NewMessage> {
    let event_id = Some(EventId::parse(event_id).unwrap());
    let body = MessageBody::new("user", Some("user"), content);
    vec![NewMessage { event_id, ..body.into() }]
}

#[tokio::test]
async fn every_call_is_counted_with_its_outcome() {
    let (store, ()) = traced().await;
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id = store.create_chat(&scope(), new).await.unwrap().chat_id;
    let nowhere = ChatId::parse("nowhere").unwrap();
    let append = async |chat_id, messages| store.append(&scope(), chat_id, messages).await;
    append(&chat_id, [message("e1", "hello"), message("e2", "hello")].concat()).await.unwrap();
    append(&chat_id, message("e1", "hello")).await.unwrap();
    append(&chat_id, message("e1", "another")).await.unwrap_err();
    append(&chat_id, Vec::new()).await.unwrap_err();
    append(&nowhere, message("e1", "hello")).await.unwrap_err();
    store.set_status(&scope(), &chat_id, ChatStatus::Completed, None).await.unwrap();
    append(&chat_id, message("e3", "late")).await.unwrap_err();

    let calls = |call, outcome| count(&*store, "reprise_store_calls_total", &[call, outcome]);
    assert_eq!(calls("append", "ok"), 2);
    assert_eq!(calls("append", "conflict"), 2);
    assert_eq!(calls("append", "invalid"), 1);
    assert_eq!(calls("append", "not_found"), 1);
    assert_eq!(calls("create_chat", "ok"), 1);
    assert_eq!(calls("set_status", "ok"), 1);
    assert_eq!(count(&*store, "reprise_store_calls_total", &[]), 8);
    assert_eq!(count(&*store, "reprise_store_call_duration_seconds", &["append"]), 6);
    let messages = |outcome| count(&*store, "reprise_store_messages_total", &[outcome]);
    assert_eq!((messages("stored"), messages("duplicate")), (2, 1));
}

#[tokio::test]
async fn a_call_nobody_waits_for_any_longer_is_cancelled() {
    let options = MongoOptions::new("mongodb://127.0.0.1:1/?replicaSet=rs0", "nowhere");
    let store = Traced::new(MongoStore::connect(&options).await.unwrap(), Duration::MAX);
    let ping = tokio::time::timeout(Duration::from_millis(20), store.ping());
    ping.await.unwrap_err();
    assert_eq!(count(&store, "reprise_store_calls_total", &["ping", "cancelled"]), 1);
    assert_eq!(count(&store, "reprise_store_calls_total", &[]), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_made_at_once_are_all_counted() {
    let (store, ()) = traced().await;
    let callers = (0..50).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for _ in 0..100 {
                store.ping().await.unwrap();
            }
        })
    });
    futures::future::try_join_all(callers).await.unwrap();
    assert_eq!(count(&*store, "reprise_store_calls_total", &["ping", "ok"]), 5_000);
    assert_eq!(count(&*store, "reprise_store_call_duration_seconds", &["ping"]), 5_000);
}
