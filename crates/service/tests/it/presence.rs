//! Presence: the people with an open stream of a chat.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_json_snapshot;
use persistence::Presence as _;
use records::{AppId, ChatId, Connection, ConnectionId, Scope, UserId};
use serde_json::{Value, json};
use service::Config;

use crate::events::Reader;
use crate::harness::{Client, SetClock, memory, memory_with};
use crate::tokens::{hs256, token};

/// An orchestrator, and the same service for others.
fn callers(store: Arc<dyn persistence::Store>) -> (Client, impl Fn(&str) -> Client) {
    let client = Client::over(store, Config { auth: hs256(), ..Config::default() });
    let service = client.with_token(token(&json!({"sub": "orchestrator", "role": "service"})));
    (service, move |user: &str| client.with_token(token(&json!({"sub": user}))))
}

/// Who is present, with how many connections.
fn users(presence: &Value) -> Vec<(&str, u64)> {
    let present = presence["present"].as_array().unwrap().iter();
    let user = |of: &'_ Value| of["connections"].as_u64().unwrap();
    present.map(|of| (of["user_id"].as_str().unwrap(), user(of))).collect()
}

async fn until(client: &Client, path: &str, expected: &[(&str, u64)]) {
    while users(&client.get(path).await.body()) != expected {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn subscribed_people_are_present_and_services_are_not() {
    let (service, person) = callers(memory());
    let path = service.create_chat("c1").await;
    let (events, presence) = (format!("{path}/events"), format!("{path}/presence"));
    assert_json_snapshot!("empty", service.get(&presence).await.snapshot());
    let _service = Reader::open(&service, &events, None).await;
    let alice = Reader::open(&person("alice"), &events, None).await;
    until(&service, &presence, &[("alice", 1)]).await;
    let bob = Reader::open(&person("bob"), &events, None).await;
    let again = Reader::open(&person("alice"), &events, None).await;
    until(&service, &presence, &[("alice", 2), ("bob", 1)]).await;
    let named = json!({"display_name": "Bob"});
    assert_eq!(person("bob").post(&format!("{path}/participants"), named).await.status, 201);
    let mut answer = service.get(&presence).await.snapshot();
    for present in answer["body"]["present"].as_array_mut().unwrap() {
        assert!(present["since"].take().is_string());
    }
    assert_json_snapshot!("present", answer);
    drop(alice);
    until(&service, &presence, &[("alice", 1), ("bob", 1)]).await;
    drop((bob, again));
    until(&service, &presence, &[]).await;
}

/// Two services over one store, as two processes would be.
#[tokio::test]
async fn subscribers_are_sent_who_is_present() {
    let store = memory();
    let (service, here) = callers(store.clone());
    let (_, there) = callers(store);
    let path = service.create_chat("c1").await;
    let events = format!("{path}/events");
    let mut watching = Reader::open(&service, &events, None).await;
    watching.until("caught-up").await;
    let empty = watching.until_present(|_| true).await;
    assert_eq!(empty, json!({"chat_id": "c1", "present": [], "count": 0}));
    let mut alice = Reader::open(&here("alice"), &events, None).await;
    alice.until_present(|now| users(now) == [("alice", 1)]).await;
    let bob = Reader::open(&there("bob"), &events, None).await;
    for reader in [&mut watching, &mut alice] {
        reader.until_present(|now| users(now) == [("alice", 1), ("bob", 1)]).await;
    }
    let named = json!({"display_name": "Bob"});
    there("bob").post(&format!("{path}/participants"), named).await;
    alice.until_present(|now| now["present"][1]["display_name"] == "Bob").await;
    drop(bob);
    for reader in [&mut watching, &mut alice] {
        reader.until_present(|now| users(now) == [("alice", 1)]).await;
    }
    // A later subscriber is sent the current state after it has caught up.
    let mut late = Reader::open(&service, &events, None).await;
    late.until("caught-up").await;
    let now = late.until_present(|_| true).await;
    assert_eq!(users(&now), [("alice", 1)]);
}

#[tokio::test]
async fn presence_expires_without_renewal() {
    let clock = Arc::new(SetClock::default());
    let store = memory_with(&clock);
    let (service, _) = callers(store.clone());
    let path = format!("{}/presence", service.create_chat("c1").await);
    let killed = Connection {
        connection_id: ConnectionId::parse("of a process that was killed").unwrap(),
        chat_id: ChatId::parse("c1").unwrap(),
        user_id: UserId::parse("alice").unwrap(),
    };
    let scope = Scope::service(AppId::parse("acme_corp").unwrap());
    store.announce(&scope, &[killed], Duration::from_secs(45)).await.unwrap();
    clock.set(44);
    assert_eq!(users(&service.get(&path).await.body()), [("alice", 1)]);
    clock.set(45);
    assert_eq!(users(&service.get(&path).await.body()), []);
}
