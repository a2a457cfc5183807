//! The events of the documents of an app.

use std::time::Duration;

use axum::body::Body;
use serde_json::{Value, json};
use service::{Config, LimitsConfig};

use crate::events::{Event, Reader};
use crate::harness::{Client, memory};
use crate::tokens::{hs256, limits, seconds, token};

const EVENTS: &str = "/api/document-events/acme_corp";

async fn put(client: &Client, path: &str, content: &str) {
    let request = client.request("PUT", &format!("/api/documents/acme_corp/{path}"));
    let request = request.header("content-type", "text/plain").body(content.to_owned().into());
    let answer = client.send(request.unwrap()).await;
    assert!([200, 201].contains(&answer.status), "{}", answer.text);
}

async fn append(client: &Client, path: &str, content: &str) {
    let request = client.request("POST", &format!("/api/documents/acme_corp/{path}"));
    let request = request.header("content-type", "text/plain").body(content.to_owned().into());
    assert_eq!(client.send(request.unwrap()).await.status, 201);
}

async fn delete(client: &Client, path: &str) {
    assert_eq!(client.delete(&format!("/api/documents/acme_corp/{path}")).await.status, 204);
}

fn told(event: &Event) -> (&str, &Value) {
    (event.name.as_str(), &event.data)
}

/// Opens a stream, and returns its first event.
async fn open(client: &Client, url: &str, last_event_id: Option<&str>) -> (Reader, Event) {
    let mut reader = Reader::open(client, url, last_event_id).await;
    let first = reader.next().await.unwrap();
    (reader, first)
}

#[tokio::test]
async fn changes_within_a_namespace_are_told_after_a_resync() {
    let client = Client::open();
    put(&client, "notes/old", "x").await;
    let url = format!("{EVENTS}?namespace=notes");
    let (mut reader, first) = open(&client, &url, None).await;
    assert_eq!(told(&first), ("resync", &json!({})));
    put(&client, "notes/a", "1").await;
    put(&client, "other/a", "1").await;
    put(&client, "notesy", "1").await;
    put(&client, "notes/a", "1").await;
    append(&client, "notes/a", "2").await;
    delete(&client, "notes/a").await;
    for expected in [
        ("changed", json!({"path": "notes/a", "version": 1})),
        ("changed", json!({"path": "notes/a", "version": 2})),
        ("deleted", json!({"path": "notes/a"})),
    ] {
        let event = reader.next().await.unwrap();
        assert_eq!(told(&event), (expected.0, &expected.1));
        assert!(event.id.is_some());
    }
    let all = client.delete("/api/documents/acme_corp?namespace=notes").await;
    assert_eq!(all.status, 200, "{}", all.text);
    let event = reader.next().await.unwrap();
    assert_eq!(told(&event), ("deleted", &json!({"path": "notes/old"})));
}

#[tokio::test]
async fn a_reader_that_reconnects_misses_no_change() {
    let client = Client::open();
    let (mut reader, _) = open(&client, EVENTS, None).await;
    put(&client, "a", "1").await;
    let id = reader.next().await.unwrap().id.unwrap();
    drop(reader);
    put(&client, "b", "1").await;
    delete(&client, "a").await;
    let (mut reader, first) = open(&client, EVENTS, Some(&id)).await;
    assert_eq!(told(&first), ("changed", &json!({"path": "b", "version": 1})));
    let second = reader.next().await.unwrap();
    assert_eq!(told(&second), ("deleted", &json!({"path": "a"})));

    // Another process does not have these changes, nor does this one after many more.
    let other = Client::open();
    let (_, first) = open(&other, EVENTS, Some(&id)).await;
    assert_eq!(first.name, "resync");
    for number in 0..8_200 {
        append(&client, "log", &number.to_string()).await;
    }
    // The changes are told after they are made.
    let mut first = open(&client, EVENTS, Some(&id)).await.1;
    for _ in 0..200 {
        if first.name == "resync" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        first = open(&client, EVENTS, Some(&id)).await.1;
    }
    assert_eq!(first.name, "resync");
}

#[tokio::test]
async fn an_invalid_position_of_documents_is_refused() {
    let client = Client::open();
    let request = client.request("GET", EVENTS).header("last-event-id", "41");
    let answer = client.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!((answer.problem().0, answer.culprit()), (422, "Last-Event-ID".to_owned()));
    let answer = client.get(&format!("{EVENTS}?namespace=/")).await;
    assert_eq!((answer.problem().0, answer.culprit()), (422, "namespace".to_owned()));
}

/// What a person may not list, an event does not tell either: neither its path nor that it is gone.
#[tokio::test]
async fn a_person_hears_of_the_documents_that_they_list() {
    let config = Config { auth: hs256(), limits: limits(), ..Config::default() };
    let client = Client::over(memory(), config);
    let service = client.with_token(token(&json!({"sub": "flow", "role": "service"})));
    let alice = client.with_token(token(&json!({})));
    let (mut reader, first) = open(&alice, EVENTS, None).await;
    assert_eq!(first.name, "resync");
    for query in [
        "bobs?user_id=bob",
        "open?user_id=bob&visibility=app",
        "linked?user_id=bob&visibility=link",
        "hers?user_id=alice",
    ] {
        put(&service, query, "x").await;
    }
    append(&service, "bobs", "y").await;
    append(&service, "hers", "y").await;
    let mut seen = Vec::new();
    while seen.last() != Some(&json!({"path": "hers", "version": 2})) {
        let event = reader.next().await.unwrap();
        assert_eq!(event.name, "changed");
        seen.push(event.data);
    }
    assert!(seen.iter().all(|data| ["open", "hers"].contains(&data["path"].as_str().unwrap())));
    assert!(seen.contains(&json!({"path": "open", "version": 1})), "{seen:?}");
    delete(&service, "bobs").await;
    let event = reader.next().await.unwrap();
    assert_eq!(told(&event), ("resync", &json!({})));
}

#[tokio::test]
async fn a_stream_of_documents_ends_with_its_rights() {
    let limits = LimitsConfig { recheck_ms: 50, ..limits() };
    let config = Config { auth: hs256(), limits, ..Config::default() };
    let client = Client::over(memory(), config);
    let service = client.with_token(token(&json!({"role": "service"})));
    let admin = client.with_token(token(&json!({"role": "operator"})));
    let short = client.with_token(token(&json!({"role": "service", "exp": seconds(2)})));
    let (mut expiring, _) = open(&short, EVENTS, None).await;
    expiring.ended().await;
    let (mut reader, _) = open(&service, EVENTS, None).await;
    let registered = admin.put("/api/apps/acme_corp", json!({})).await;
    assert_eq!(registered.status, 200, "{}", registered.text);
    let disabled = admin.poke("/api/apps/acme_corp/disable").await;
    assert_eq!(disabled.status, 200, "{}", disabled.text);
    reader.ended().await;
    assert_eq!(service.get(EVENTS).await.status, 403);
}

#[tokio::test]
async fn streams_of_documents_are_counted() {
    let limits = LimitsConfig { streams_per_app: 1, ..LimitsConfig::default() };
    let client = Client::over(memory(), Config { limits, ..Config::default() });
    let (reader, _) = open(&client, EVENTS, None).await;
    assert_eq!(client.get(EVENTS).await.problem(), (429, "too-many-requests".to_owned()));
    drop(reader);
    tokio::time::sleep(Duration::from_millis(10)).await;
    open(&client, EVENTS, None).await;
}
