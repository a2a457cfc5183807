//! What people learn of chats that are theirs, that are shared with them, and that are not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use persistence::memory::MemoryStore;
use records::Visibility;
use serde_json::json;
use service::{AppSettings, AppsConfig, Config, LimitsConfig};

use crate::events::{Event, Reader};
use crate::harness::{Client, memory};
use crate::serve::start_with;
use crate::socket::Socket;
use crate::tokens::{hs256, token};

const CHATS: &str = "/api/chats/acme_corp";
const C1: &str = "/api/chats/acme_corp/c1";

fn of(client: &Client, sub: &str) -> Client {
    client.with_token(token(&json!({"sub": sub, "team": "blue"})))
}

fn service_of(client: &Client) -> Client {
    client.with_token(token(&json!({"sub": "orchestrator", "role": "service"})))
}

fn not_found() -> (u16, String) {
    (404, "chat-not-found".to_owned())
}

#[tokio::test]
async fn a_new_chat_is_private_unless_something_else_is_said() {
    let client = Client::over(memory(), Config { auth: hs256(), ..Config::default() });
    let [alice, mallory] = ["alice", "mallory"].map(|sub| of(&client, sub));
    let by_alice = json!({"chat_id": "c1", "workflow_name": "w"});
    let by_service =
        json!({"chat_id": "c2", "workflow_name": "w", "user_id": "alice", "team_id": "blue"});
    for (creator, new) in [(&alice, by_alice), (&service_of(&client), by_service)] {
        let created = creator.post(CHATS, new).await;
        assert_eq!((created.status, &created.body()["visibility"]), (201, &json!("private")));
    }
    for chat in ["c1", "c2"] {
        for below in ["", "/messages", "/events"] {
            let answer = mallory.get(&format!("{CHATS}/{chat}{below}")).await;
            assert_eq!(answer.problem(), not_found(), "{chat}{below}");
        }
        let said = json!({"role": "user", "content": "x"});
        let said = mallory.post(&format!("{CHATS}/{chat}/messages"), said).await;
        assert_eq!(said.problem(), not_found());
    }
    for list in ["", "?scope=app"] {
        let listed = mallory.get(&format!("{CHATS}{list}")).await.body();
        assert_eq!(listed["data"], json!([]), "{list}");
    }
    assert_eq!(alice.get(CHATS).await.body()["data"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_default_of_the_settings_counts_where_nothing_is_said() {
    let settings = AppSettings { default_visibility: Visibility::Link, ..AppSettings::default() };
    let apps = AppsConfig { settings, ..AppsConfig::default() };
    let client = Client::over(memory(), Config { auth: hs256(), apps, ..Config::default() });
    let [alice, mallory] = ["alice", "mallory"].map(|sub| of(&client, sub));
    for (chat, visibility, status) in [("c1", None, 200), ("c2", Some("private"), 404)] {
        let new = json!({"chat_id": chat, "workflow_name": "w", "visibility": visibility});
        assert_eq!(alice.post(CHATS, new).await.status, 201);
        assert_eq!(mallory.get(&format!("{CHATS}/{chat}")).await.status, status, "{chat}");
    }
}

#[tokio::test]
async fn a_removed_member_loses_sockets_and_streams() {
    let limits = LimitsConfig { recheck_ms: 50, ..LimitsConfig::default() };
    let config = Config { auth: hs256(), limits, ..Config::default() };
    let store = memory();
    let client = Client::over(Arc::<MemoryStore>::clone(&store), config.clone());
    let [alice, bob] = ["alice", "bob"].map(|sub| of(&client, sub));
    let new = json!({"chat_id": "c1", "workflow_name": "Generator"});
    assert_eq!(alice.post(CHATS, new).await.status, 201);
    let member = format!("{C1}/members/bob");
    assert_eq!(alice.put(&member, json!({})).await.status, 201);
    let server = start_with(store, config).await;
    let bearer = format!("Bearer {}", token(&json!({"sub": "bob"})));
    let path = "/ws/Generator/acme_corp/c1/bob";
    let mut socket = Socket::try_open(&server, path, &[("authorization", &*bearer)]).await.unwrap();
    socket.until("chat.resume_boundary").await;
    let events = format!("{C1}/events");
    let mut of_bob = Reader::open(&bob, &events, None).await;
    let mut of_alice = Reader::open(&alice, &events, None).await;
    of_bob.until("caught-up").await;
    of_alice.until("caught-up").await;

    assert!(alice.put(&member, json!({"role": "reader"})).await.status < 300);
    socket.send(json!({"type": "user.input.submit", "text": "x"})).await;
    socket.until("chat.error").await;
    assert_eq!(alice.get(C1).await.body()["last_sequence"], 0, "a reader says nothing");

    assert_eq!(alice.delete(&member).await.status, 204);
    let removed = Instant::now();
    assert_eq!(socket.closed().await, 1008);
    assert_eq!(of_bob.next().await, None);
    // The checks are at most 50 ms apart; the rest is for a busy machine.
    assert!(removed.elapsed() < Duration::from_secs(5), "{:?}", removed.elapsed());
    let said = json!({"role": "user", "content": "x"});
    assert_eq!(alice.post(&format!("{C1}/messages"), said).await.status, 201);
    of_alice.until("message").await;
    assert_eq!(bob.get(&events).await.problem(), not_found());
}

#[tokio::test]
async fn usage_is_sent_only_to_those_who_manage_the_chat() {
    let client = Client::over(memory(), Config { auth: hs256(), ..Config::default() });
    let service = service_of(&client);
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|sub| of(&client, sub));
    let new = json!({"chat_id": "c1", "workflow_name": "w", "user_id": "alice"});
    assert_eq!(service.post(CHATS, new).await.status, 201);
    for (user, role) in [("bob", "member"), ("carol", "reader")] {
        let put = service.put(&format!("{C1}/members/{user}"), json!({"role": role})).await;
        assert_eq!(put.status, 201);
    }
    let events = format!("{C1}/events");
    let mut readers = Vec::new();
    for caller in [&service, &alice, &bob, &carol] {
        let mut reader = Reader::open(caller, &events, None).await;
        reader.until("caught-up").await;
        readers.push(reader);
    }
    let call = json!({"prompt_tokens": 12, "completion_tokens": 4, "cost_micros_usd": 1_234});
    assert_eq!(service.post(&format!("{C1}/calls"), call).await.status, 201);
    let (managers, others) = readers.split_at_mut(2);
    for reader in managers {
        reader.until("usage").await;
    }
    // Two changes of the status, one after the other: usage may be sent after the first.
    for verb in ["pause", "reopen"] {
        assert!(service.poke(&format!("{C1}/{verb}")).await.status < 300, "{verb}");
        for reader in others.iter_mut() {
            assert_no_usage(&reader.until("status").await);
        }
    }
    let mut late = Reader::open(&bob, &events, None).await;
    assert_no_usage(&late.until("caught-up").await);
    let calls = bob.get(&format!("{C1}/calls")).await;
    assert_eq!(calls.problem(), (403, "forbidden-permission".to_owned()));
}

#[tokio::test]
async fn usage_comes_over_the_socket_only_to_those_who_manage_the_chat() {
    let store = memory();
    let config = Config { auth: hs256(), ..Config::default() };
    let client = Client::over(Arc::<MemoryStore>::clone(&store), config.clone());
    let service = service_of(&client);
    let new = json!({"chat_id": "c1", "workflow_name": "Generator", "user_id": "alice"});
    assert_eq!(service.post(CHATS, new).await.status, 201);
    for (user, role) in [("bob", "member"), ("carol", "reader")] {
        let put = service.put(&format!("{C1}/members/{user}"), json!({"role": role})).await;
        assert_eq!(put.status, 201);
    }
    let call = |cost: u64| json!({"prompt_tokens": 12, "cost_micros_usd": cost});
    assert_eq!(service.post(&format!("{C1}/calls"), call(1_234_567)).await.status, 201);
    let server = start_with(store, config).await;
    let join = async |user: &str| {
        let bearer = format!("Bearer {}", token(&json!({"sub": user})));
        let path = format!("/ws/Generator/acme_corp/c1/{user}");
        let headers = [("authorization", &*bearer)];
        Socket::try_open(&server, &path, &headers).await.unwrap()
    };
    // What is sent first, and what is sent later.
    let mut of_alice = join("alice").await;
    let found = of_alice.until("chat.usage").await;
    assert!(format!("{found:?}").contains("1234567"), "{found:?}");
    let mut others = Vec::new();
    for user in ["bob", "carol"] {
        let mut socket = join(user).await;
        let found = socket.until("chat.resume_boundary").await;
        assert!(!format!("{found:?}").contains("1234567"), "{user}: {found:?}");
        others.push(socket);
    }
    assert_eq!(service.post(&format!("{C1}/calls"), call(7_654_321)).await.status, 201);
    let found = of_alice.until("chat.usage").await;
    assert!(format!("{found:?}").contains("8888888"), "{found:?}");
    // Two messages, one after the other: usage may be sent after the first.
    for text in ["first", "second"] {
        let said = json!({"role": "assistant", "content": text});
        assert_eq!(service.post(&format!("{C1}/messages"), said).await.status, 201);
        for socket in &mut others {
            let found = socket.until("chat.text").await;
            let is_cost = |text: &str| ["chat.usage", "8888888"].iter().any(|it| text.contains(it));
            assert!(!is_cost(&format!("{found:?}")), "{found:?}");
        }
    }
}

/// The setting of the app decides also about streams that are open.
#[tokio::test]
async fn support_that_an_app_no_longer_admits_loses_its_stream() {
    let limits = LimitsConfig { recheck_ms: 50, ..LimitsConfig::default() };
    let client = Client::over(memory(), Config { auth: hs256(), limits, ..Config::default() });
    let operator = client.with_token(token(&json!({"sub": "olga", "role": "operator"})));
    let support = client.with_token(token(&json!({"sub": "sue", "role": "support"})));
    of(&client, "alice").create_chat("c1").await;
    let app = "/api/apps/acme_corp";
    operator.put(app, json!({})).await;
    let admit = |admits: bool| operator.patch(app, json!({"settings": {"support_access": admits}}));
    assert_eq!(admit(true).await.status, 200);
    let mut reader = Reader::open(&support, &format!("{C1}/events"), None).await;
    reader.until("caught-up").await;
    assert_eq!(admit(false).await.status, 200);
    reader.ended().await;
}

fn assert_no_usage(events: &[Event]) {
    assert!(events.iter().all(|event| event.name != "usage"), "{events:?}");
}
