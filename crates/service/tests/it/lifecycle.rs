//! Changing, archiving, deleting and restoring a chat.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use futures::stream::BoxStream;
use persistence::memory::{Faults, MemoryStore};
use persistence::metrics::Call;
use persistence::{AuditFilter, StoreError};
use records::{Actor, ActorRole, AppId, AuditAction, Message, UserId};
use serde_json::{Value, json};
use service::{Config, ErasureConfig, LimitsConfig};

use crate::events::Reader;
use crate::harness::{Answer, Client, memory};
use crate::signing::{new_ed_key, verified};
use crate::tokens::{hs256, token};

const CHATS: &str = "/api/chats/acme_corp";
const C1: &str = "/api/chats/acme_corp/c1";

fn of(client: &Client, sub: &str) -> Client {
    client.with_token(token(&json!({"sub": sub, "team": "blue"})))
}

/// Returns a client with a chat `c1` of alice in the team blue.
async fn with_chat() -> Client {
    let limits = LimitsConfig { recheck_ms: 50, ..LimitsConfig::default() };
    let client = Client::over(memory(), Config { auth: hs256(), limits, ..Config::default() });
    let new = json!({"chat_id": "c1", "workflow_name": "Generator", "title": "before"});
    assert_eq!(of(&client, "alice").post(CHATS, new).await.status, 201);
    client
}

async fn listed(client: &Client, query: &str) -> Vec<Value> {
    let listed = client.get(&format!("{CHATS}{query}")).await.body();
    listed["data"].as_array().unwrap().iter().map(|chat| chat["chat_id"].clone()).collect()
}

async fn if_match(client: &Client, tag: &str, body: &Value) -> Answer {
    let request = client.request("PATCH", C1).header("if-match", tag);
    let request = request.header("content-type", "application/json");
    client.send(request.body(Body::from(body.to_string())).unwrap()).await
}

#[tokio::test]
async fn a_chat_is_renamed_and_listeners_hear_of_it() {
    let client = with_chat().await;
    let alice = of(&client, "alice");
    let mut events = Reader::open(&alice, &format!("{C1}/events"), None).await;
    let caught_up = events.until("caught-up").await.pop().unwrap();
    assert_eq!(caught_up.data["session_version"], 0);
    let before = alice.get(C1).await.body();
    let change = json!({
        "title": "after", "metadata": {"a": 1}, "visibility": "team", "team_id": "blue",
        "assistant_id": "helper", "sort": -1, "system_prompt": "Be brief.",
    });
    let changed = alice.patch(C1, change.clone()).await;
    assert_eq!((changed.status, changed.header("etag")), (200, "\"1\""));
    assert_eq!(changed.body(), alice.get(C1).await.body());
    for (field, value) in change.as_object().unwrap() {
        assert_eq!(changed.body()[field], *value, "{field}");
    }
    assert_eq!(changed.body()["updated_by"], "alice");
    assert_eq!(events.until("chat").await.pop().unwrap().data, json!({"version": 1}));
    // Repeated, it changes nothing; null clears.
    assert_eq!(alice.patch(C1, change).await.body(), changed.body());
    let cleared = json!({
        "title": null, "metadata": null, "visibility": "private", "team_id": null,
        "assistant_id": null, "sort": null, "system_prompt": null,
    });
    let cleared = alice.patch(C1, cleared).await.body();
    assert_eq!((&cleared["title"], &cleared["metadata"]), (&json!(null), &json!({})));
    for field in ["team_id", "assistant_id", "sort", "system_prompt", "visibility", "metadata"] {
        let expected = if field == "team_id" { &json!(null) } else { &before[field] };
        assert_eq!(cleared[field], *expected, "{field}");
    }
}

#[tokio::test]
async fn a_change_that_is_invalid_is_refused_by_its_field() {
    let client = with_chat().await;
    let alice = of(&client, "alice");
    let before = alice.get(C1).await.body();
    for (change, culprit) in [
        (json!({}), ""),
        (json!({"title": "x".repeat(513)}), "/title"),
        (json!({"title": 7}), "/title"),
        (json!({"metadata": {"a": "x".repeat(20_000)}}), "/metadata"),
        (json!({"visibility": "everybody"}), "/visibility"),
        (json!({"visibility": null}), "/visibility"),
        (json!({"visibility": null, "title": "x"}), "/visibility"),
        (json!({"visibility": "team", "team_id": null}), "/visibility"),
        (json!({"team_id": "red"}), "/team_id"),
        (json!({"assistant_id": "\n"}), "/assistant_id"),
        (json!({"sort": 2_147_483_648_i64}), "/sort"),
        (json!({"system_prompt": "x".repeat(16_385)}), "/system_prompt"),
        (json!({"status": "paused"}), "/status"),
        (json!({"lifecycle": "archived"}), "/lifecycle"),
    ] {
        let refused = alice.patch(C1, change.clone()).await;
        assert!((400..500).contains(&refused.status), "{change}: {}", refused.text);
        assert_eq!(refused.culprit(), culprit, "{change}: {}", refused.text);
    }
    assert_eq!(alice.get(C1).await.body(), before);
}

#[tokio::test]
async fn a_change_depends_on_the_version_that_was_seen() {
    let client = with_chat().await;
    let alice = of(&client, "alice");
    for (tag, title, status) in
        [("\"0\"", "one", 200), ("\"0\"", "two", 412), ("\"7\", \"1\"", "three", 200)]
    {
        let answer = if_match(&alice, tag, &json!({ "title": title })).await;
        assert_eq!(answer.status, status, "{title}: {}", answer.text);
    }
    let chat = alice.get(C1).await.body();
    assert_eq!((&chat["title"], &chat["session_version"]), (&json!("three"), &json!(2)));
}

#[tokio::test]
async fn only_those_who_manage_a_chat_change_it() {
    let client = with_chat().await;
    let [alice, bob, mallory] = ["alice", "bob", "mallory"].map(|sub| of(&client, sub));
    assert_eq!(alice.put(&format!("{C1}/members/bob"), json!({})).await.status, 201);
    for (path, method) in [
        ("", "PATCH"),
        ("", "DELETE"),
        ("/archive", "POST"),
        ("/activate", "POST"),
        ("/undelete", "POST"),
    ] {
        for (who, status) in [(&bob, 403), (&mallory, 404)] {
            let answer = match method {
                "PATCH" => who.patch(&format!("{C1}{path}"), json!({"title": "x"})).await,
                "DELETE" => who.delete(&format!("{C1}{path}")).await,
                _ => who.poke(&format!("{C1}{path}")).await,
            };
            assert_eq!(answer.status, status, "{method} {path}: {}", answer.text);
        }
    }
    assert_eq!(alice.get(C1).await.body()["title"], "before");
}

#[tokio::test]
async fn an_archived_chat_is_listed_where_it_is_asked_for() {
    let client = with_chat().await;
    let alice = of(&client, "alice");
    for _ in 0..2 {
        let archived = alice.poke(&format!("{C1}/archive")).await;
        assert_eq!((archived.status, &archived.body()["lifecycle"]), (200, &json!("archived")));
    }
    for (query, expected) in [
        ("", 0),
        ("?lifecycle=active", 0),
        ("?lifecycle=archived", 1),
        ("?lifecycle=all", 1),
        ("?lifecycle=deleted", 0),
    ] {
        assert_eq!(listed(&alice, query).await.len(), expected, "{query}");
    }
    let mut events = Reader::open(&alice, &format!("{C1}/events"), None).await;
    let caught_up = events.until("caught-up").await.pop().unwrap();
    assert_eq!(caught_up.data["lifecycle"], "archived");
    let said = json!({"role": "user", "content": "still there?"});
    assert_eq!(alice.post(&format!("{C1}/messages"), said).await.status, 201);
    let changed = events.until("chat").await.pop().unwrap();
    assert_eq!(changed.data, json!({"version": 1}), "a message is no change of the chat itself");
    assert_eq!(alice.get(C1).await.body()["lifecycle"], "active");
    let again = alice.poke(&format!("{C1}/archive")).await.body();
    assert_eq!(again["session_version"], 2);
    let active = alice.poke(&format!("{C1}/activate")).await.body();
    assert_eq!((&active["lifecycle"], &active["lifecycle_at"]), (&json!("active"), &json!(null)));
}

#[tokio::test]
async fn a_deleted_chat_is_gone_until_it_is_restored() {
    let client = with_chat().await;
    let alice = of(&client, "alice");
    let bob = of(&client, "bob");
    assert_eq!(alice.put(&format!("{C1}/members/bob"), json!({})).await.status, 201);
    let said = json!({"role": "user", "content": "hello"});
    assert_eq!(alice.post(&format!("{C1}/messages"), said.clone()).await.status, 201);
    let mut events = Reader::open(&bob, &format!("{C1}/events"), None).await;
    events.until("caught-up").await;
    for _ in 0..2 {
        assert_eq!(alice.delete(C1).await.status, 204);
    }
    while events.next().await.is_some() {}
    for path in ["", "/messages", "/history", "/events", "/meta", "/resume", "/members"] {
        let answer = alice.get(&format!("{C1}{path}")).await;
        assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()), "{path}");
    }
    let refused = alice.post(&format!("{C1}/messages"), said).await;
    assert_eq!(refused.problem(), (404, "chat-not-found".to_owned()));
    let taken = alice.post(CHATS, json!({"chat_id": "c1", "workflow_name": "Generator"})).await;
    assert_eq!(taken.problem(), (409, "chat-exists".to_owned()));
    assert_eq!(listed(&alice, "?lifecycle=all").await.len(), 0);
    assert_eq!(listed(&alice, "?lifecycle=deleted").await, ["c1"]);
    assert_eq!(listed(&bob, "?lifecycle=deleted").await.len(), 0);
    let deleted = format!("{C1}?deleted=true");
    assert_eq!(alice.get(&deleted).await.body()["lifecycle"], "deleted");
    for who in [&bob, &of(&client, "mallory")] {
        let undelete = format!("{C1}/undelete");
        for answer in [who.get(&deleted).await, who.delete(C1).await, who.poke(&undelete).await] {
            assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()));
        }
    }
    for _ in 0..2 {
        let restored = alice.poke(&format!("{C1}/undelete")).await;
        assert_eq!((restored.status, &restored.body()["lifecycle"]), (200, &json!("active")));
    }
    assert_eq!(bob.get(&deleted).await.body(), bob.get(C1).await.body());
    let messages = bob.get(&format!("{C1}/messages")).await.body();
    assert_eq!(messages["data"][0]["content"], "hello");
}

#[tokio::test]
async fn a_chat_under_hold_is_not_purged_and_then_it_is_gone() {
    let client = with_chat().await;
    let alice = of(&client, "alice");
    let service = client.with_token(token(&json!({"sub": "o", "role": "service"})));
    let operator = client.with_token(token(&json!({"sub": "op", "role": "operator"})));
    let hold = "/api/apps/acme_corp/holds/c1";
    for caller in [&alice, &service] {
        assert_eq!(caller.put(hold, json!({"reason": "x"})).await.status, 403);
    }
    let answer = operator.put(hold, json!({"reason": "dispute 7"})).await;
    assert_eq!((answer.status, &answer.body()["reason"]), (200, &json!("dispute 7")));
    assert_eq!(operator.put(hold, json!({"reason": "dispute 7"})).await.body(), answer.body());
    let holds = "/api/apps/acme_corp/holds";
    let mut entry = answer.body();
    entry["chat_id"] = json!("c1");
    let listed = operator.get(holds).await.body();
    assert_eq!(listed, json!({"data": [entry], "next_cursor": null}));
    assert_eq!(service.get(holds).await.status, 403);
    let long = operator.put(hold, json!({"reason": "x".repeat(1_001)})).await;
    assert_eq!((long.status, &*long.culprit()), (422, "/reason"));
    let unknown = operator.put("/api/apps/acme_corp/holds/c2", json!({"reason": "x"})).await;
    assert_eq!(unknown.problem(), (404, "chat-not-found".to_owned()));

    let purge = format!("{C1}?purge=true");
    assert_eq!(alice.delete(&purge).await.problem(), (403, "forbidden-role".to_owned()));
    assert_eq!(service.delete(&purge).await.problem(), (409, "chat-held".to_owned()));
    assert_eq!(alice.delete(C1).await.status, 204);
    assert_eq!(service.delete(&purge).await.problem(), (409, "chat-held".to_owned()));
    for _ in 0..2 {
        assert_eq!(operator.delete(hold).await.status, 204);
    }
    assert_eq!(operator.get(holds).await.body()["data"], json!([]));
    let stale = service.request("DELETE", &purge).header("if-match", "\"7\"");
    let stale = service.send(stale.body(Body::empty()).unwrap()).await;
    assert_eq!(stale.problem(), (412, "precondition-failed".to_owned()));
    for _ in 0..2 {
        assert_eq!(service.delete(&purge).await.status, 204);
    }
    for gone in [
        service.get(&format!("{C1}?deleted=true")).await,
        service.delete("/api/chats/acme_corp/c2?purge=true").await,
    ] {
        assert_eq!(gone.problem(), (404, "chat-not-found".to_owned()));
    }
    assert_eq!(alice.poke(&format!("{C1}/undelete")).await.status, 404);
    let taken = alice.post(CHATS, json!({"chat_id": "c1", "workflow_name": "Generator"})).await;
    assert_eq!(taken.problem(), (409, "chat-exists".to_owned()));
}

#[tokio::test]
async fn a_person_is_erased_in_the_background_and_the_receipt_names_no_person() {
    let store: Arc<dyn persistence::Store> = memory();
    let (key, public) = new_ed_key();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), key).unwrap();
    let erasure = ErasureConfig { signing_key_file: Some(file.path().to_owned()) };
    let config = Config { auth: hs256(), erasure, ..Config::default() };
    let client = Client::over(Arc::clone(&store), config);
    let of = |user: &str, role: &str| client.with_token(token(&json!({"sub": user, "role": role})));
    let (alice, operator) = (of("alice", "user"), of("op", "operator"));
    let create = json!({"chat_id": "c1", "workflow_name": "Generator"});
    assert_eq!(alice.post("/api/chats/acme_corp", create).await.status, 201);
    let erasures = "/api/apps/acme_corp/erasures";
    let of_alice = json!({"user_id": "alice"});
    for caller in [&alice, &of("o", "service")] {
        assert_eq!(caller.post(erasures, of_alice.clone()).await.status, 403);
    }
    let begun = operator.post(erasures, of_alice.clone()).await;
    assert_eq!((begun.status, &begun.body()["finished_at"]), (200, &json!(null)));
    assert_eq!(begun.body()["signed"], json!(null), "not before it is finished");
    assert_eq!(operator.post(erasures, of_alice).await.body(), begun.body(), "idempotent");
    let body = begun.body();
    let this = format!("{erasures}/{}", body["pseudonym"].as_str().unwrap());
    let sweep = tokio::spawn(service::continue_erasures(Arc::clone(&store)));
    let receipt = loop {
        let answer = operator.get(&this).await;
        assert_eq!(answer.status, 200);
        if !answer.body()["finished_at"].is_null() {
            break answer;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    sweep.abort();
    assert_eq!(receipt.body()["erased"], json!({"chats": 1, "usages": 1}));
    assert_eq!(receipt.body()["held"], json!([]));
    assert!(!receipt.text.contains("alice"), "{}", receipt.text);
    let mut content = receipt.body();
    let token = content.as_object_mut().unwrap().remove("signed").unwrap();
    let [header, signed] = verified(token.as_str().unwrap(), &public);
    assert_eq!(header, json!({"typ": "reprise-erasure", "alg": "EdDSA"}));
    assert_eq!(signed, content, "null would mean unsigned");
    content["signed"] = json!(null);
    assert_eq!(alice.get(C1).await.status, 404);
    let entries = store.list_audit_entries(&AuditFilter::default(), 100, None).await.unwrap();
    let last = entries.entries.first().unwrap();
    assert_eq!((last.action, last.role), (AuditAction::GetErasure, ActorRole::Operator));
    let without_key = Client::over(Arc::clone(&store), Config::default()).get(&this).await;
    assert_eq!(without_key.body(), content, "unsigned");
    let unknown = format!("{erasures}/{}", "0".repeat(64));
    assert_eq!(operator.get(&unknown).await.problem(), (404, "erasure-not-found".to_owned()));
    assert_eq!(operator.get(&format!("{erasures}/x")).await.status, 422);
}

/// Fails the first erasure of each round.
#[derive(Debug, Default)]
struct FirstFails(AtomicBool);

#[async_trait]
impl Faults for FirstFails {
    async fn before(&self, call: Call) -> Result<(), StoreError> {
        match call {
            Call::UnfinishedErasures => self.0.store(true, Ordering::Relaxed),
            Call::ContinueErasure if self.0.swap(false, Ordering::Relaxed) => {
                return Err(StoreError::Refused { source: "broken".into() });
            }
            _ => {}
        }
        Ok(())
    }

    fn history<'a>(
        &'a self,
        messages: BoxStream<'a, Result<Message, StoreError>>,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        messages
    }
}

/// Begins the erasures of Ada and Bob.
async fn with_two_erasures(store: MemoryStore) -> Arc<dyn persistence::Store> {
    let store: Arc<dyn persistence::Store> = Arc::new(store);
    let app_id = AppId::parse("acme_corp").unwrap();
    for user in ["ada", "bob"] {
        let user = UserId::parse(user).unwrap();
        store.begin_erasure(&Actor::command_line(), &app_id, &user).await.unwrap();
    }
    store
}

#[tokio::test]
async fn an_erasure_that_fails_does_not_keep_others_waiting() {
    let store = MemoryStore::default().with_faults(Arc::new(FirstFails::default()));
    let store = with_two_erasures(store).await;
    let sweep = tokio::spawn(service::continue_erasures(Arc::clone(&store)));
    let left = loop {
        let left = store.unfinished_erasures(10).await.unwrap();
        if left.len() < 2 {
            break left;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    sweep.abort();
    assert_eq!(left[0].user_id, UserId::parse("ada").ok(), "the failing one is left");
}

/// Fails the first erasure of the first round, and counts rounds and steps.
#[derive(Debug, Default)]
struct FirstFailsOnce {
    rounds: AtomicUsize,
    steps: AtomicUsize,
}

#[async_trait]
impl Faults for FirstFailsOnce {
    async fn before(&self, call: Call) -> Result<(), StoreError> {
        match call {
            Call::UnfinishedErasures => {
                self.rounds.fetch_add(1, Ordering::Relaxed);
            }
            Call::ContinueErasure if self.steps.fetch_add(1, Ordering::Relaxed) == 0 => {
                return Err(StoreError::Refused { source: "broken".into() });
            }
            _ => {}
        }
        Ok(())
    }

    fn history<'a>(
        &'a self,
        messages: BoxStream<'a, Result<Message, StoreError>>,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        messages
    }
}

#[tokio::test]
async fn an_erasure_that_has_failed_is_left_for_a_while() {
    let faults = Arc::new(FirstFailsOnce::default());
    let store = MemoryStore::default().with_faults(Arc::clone(&faults) as Arc<dyn Faults>);
    let store = with_two_erasures(store).await;
    let sweep = tokio::spawn(service::continue_erasures(Arc::clone(&store)));
    while faults.rounds.load(Ordering::Relaxed) < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    sweep.abort();
    assert_eq!(faults.steps.load(Ordering::Relaxed), 2, "one for each");
    let left = store.unfinished_erasures(10).await.unwrap();
    assert_eq!(left[0].user_id, UserId::parse("ada").ok(), "the failed one is left");
}

#[tokio::test]
async fn what_was_erased_is_told_to_no_listener_any_more() {
    let store: Arc<dyn persistence::Store> = memory();
    let client = Client::over(Arc::clone(&store), Config { auth: hs256(), ..Config::default() });
    let of = |user: &str, role: &str| client.with_token(token(&json!({"sub": user, "role": role})));
    let (alice, bob, operator) = (of("alice", "user"), of("bob", "user"), of("op", "operator"));
    let service = of("o", "service");
    let create = json!({"chat_id": "c1", "workflow_name": "Generator", "visibility": "link"});
    assert_eq!(bob.post("/api/chats/acme_corp", create).await.status, 201);
    assert_eq!(service.put(&format!("{C1}/members/alice"), json!({})).await.status, 201);
    // The stream stays open, so that its feed does.
    let url = format!("{C1}/events?after=-1");
    let mut listening = Reader::open(&bob, &url, None).await;
    listening.until("caught-up").await;
    for content in ["secret", "secret, too"] {
        let said = json!({"role": "user", "content": content});
        assert_eq!(alice.post(&format!("{C1}/messages"), said).await.status, 201);
    }
    let edit = json!({"content": "secret, edited"});
    assert_eq!(alice.patch(&format!("{C1}/messages/0"), edit).await.status, 200);
    let asked = json!({"request_id": "q1", "prompt": "Why?"});
    assert_eq!(service.post(&format!("{C1}/input-requests"), asked).await.status, 201);
    let answer = json!({"content": "secret answer"});
    let answered = alice.post(&format!("{C1}/input-requests/q1/answer"), answer).await;
    assert!(answered.status < 300, "{}", answered.text);
    let position = loop {
        let event = listening.next().await.unwrap();
        if event.data.to_string().contains("secret answer") && event.name.contains("message") {
            break event.id;
        }
    };
    assert!(position.is_some());
    let before = Reader::open(&bob, &url, None).await.until("caught-up").await;
    assert!(format!("{before:?}").contains("secret"), "the search is not blind");

    let erasures = "/api/apps/acme_corp/erasures";
    operator.post(erasures, json!({"user_id": "alice"})).await;
    let sweep = tokio::spawn(service::continue_erasures(store));
    let told = async {
        loop {
            let mut late = Reader::open(&bob, &url, None).await;
            let all = late.until("caught-up").await;
            if !format!("{all:?}").contains("secret") {
                break all;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(5), told).await.expect("within 5 s");
    sweep.abort();
    assert_eq!(told.iter().filter(|event| event.name == "message").count(), 3, "{told:?}");
}
