//! The events that subscribers of a chat are sent.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures::StreamExt as _;
use insta::assert_json_snapshot;
use persistence::memory::MemoryStore;
use serde_json::{Value, json};
use service::{Config, LimitsConfig, router};
use tokio::time::timeout;
use tower::ServiceExt as _;

use crate::harness::{Client, memory};
use crate::tokens::{hs256, seconds, token};

const MAX_WAIT: Duration = Duration::from_secs(20);

/// A server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

/// A subscriber.
pub(crate) struct Reader {
    body: BodyDataStream,
    text: String,
    events: VecDeque<Event>,
    /// The presence events in order; they are kept apart from the other events.
    pub(crate) presence: VecDeque<Value>,
    /// The comments, and all text outside events.
    pub(crate) others: Vec<String>,
}

impl Reader {
    pub(crate) async fn open(client: &Client, url: &str, last_event_id: Option<&str>) -> Self {
        let request = client.request("GET", url);
        let request = match last_event_id {
            Some(id) => request.header("last-event-id", id),
            None => request,
        };
        Self::send(client.app(), request.body(Body::empty()).unwrap()).await
    }

    async fn send(app: Router, request: Request<Body>) -> Self {
        let response = app.oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        let body = response.into_body().into_data_stream();
        let (events, presence) = (VecDeque::new(), VecDeque::new());
        Self { body, text: String::new(), events, presence, others: Vec::new() }
    }

    /// Returns the next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        while self.events.is_empty() {
            self.receive().await?;
        }
        self.events.pop_front()
    }

    /// Waits for the end of the stream, and skips all events before it. Comments do not prolong the wait.
    pub(crate) async fn ended(&mut self) {
        let ended = async { while self.next().await.is_some() {} };
        timeout(MAX_WAIT, ended).await.expect("the stream ends");
    }

    /// Waits for a presence event that fulfils a condition.
    pub(crate) async fn until_present(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            while let Some(presence) = self.presence.pop_front() {
                if is_it(&presence) {
                    return presence;
                }
            }
            self.receive().await.expect("it goes on");
        }
    }

    async fn receive(&mut self) -> Option<()> {
        let chunk = timeout(MAX_WAIT, self.body.next()).await.expect("something is sent")?;
        self.text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
        while let Some((block, rest)) = self.text.split_once("\n\n") {
            match event(block) {
                Some(event) if event.name == "presence" => self.presence.push_back(event.data),
                Some(event) => self.events.push_back(event),
                None => self.others.push(block.to_owned()),
            }
            self.text = String::from(rest);
        }
        Some(())
    }

    /// Returns the events up to one of that name, which comes last.
    pub(crate) async fn until(&mut self, name: &str) -> Vec<Event> {
        let mut events = Vec::new();
        while events.last().is_none_or(|event: &Event| event.name != name) {
            events.push(self.next().await.expect("it goes on"));
        }
        events
    }
}

fn event(block: &str) -> Option<Event> {
    let field = |name: &str| {
        let value = block.lines().find_map(|line| line.strip_prefix(name));
        value.map(|value| value.trim_start().to_owned())
    };
    let data = serde_json::from_str(&field("data:")?).unwrap();
    Some(Event { name: field("event:")?, id: field("id:"), data })
}

fn names(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.name.as_str()).collect()
}

fn ids(events: &[Event]) -> Vec<&str> {
    events.iter().filter_map(|event| event.id.as_deref()).collect()
}

async fn say(client: &Client, path: &str, count: usize) {
    let message = json!({"role": "user", "name": "ada", "content": "hello"});
    let messages = vec![message; count];
    let answer = client.post(&format!("{path}/messages"), json!({"messages": messages})).await;
    assert_eq!(answer.status, 201);
}

fn service(store: &Arc<MemoryStore>, limits: LimitsConfig) -> Client {
    Client::over(Arc::<MemoryStore>::clone(store), Config { limits, ..Config::default() })
}

#[tokio::test]
async fn everything_stored_is_sent_and_then_new_events() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    say(&client, &path, 2).await;
    let mut reader = Reader::open(&client, &format!("{path}/events"), None).await;
    let mut events = reader.until("caught-up").await;
    say(&client, &path, 1).await;
    events.extend(reader.until("message").await);
    let hello = json!({"content": "changed"});
    client.patch(&format!("{path}/messages/0"), hello).await;
    events.extend(reader.until("message-updated").await);
    client.delete(&format!("{path}/messages/1")).await;
    events.extend(reader.until("message-deleted").await);
    client.put(&format!("{path}/context"), json!({"a": 1})).await;
    events.extend(reader.until("context").await);
    client.put(&format!("{path}/artifact"), json!({"payload": 1})).await;
    events.extend(reader.until("artifact").await);
    client.post(&format!("{path}/pause"), json!({"reason": "waits"})).await;
    events.extend(reader.until("status").await);
    let events: Vec<_> = events
        .into_iter()
        .map(|event| json!({"event": event.name, "id": event.id, "data": event.data}))
        .collect();
    assert_json_snapshot!("all", events);
}

#[tokio::test]
async fn a_message_is_sent_as_it_is_read() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let message = json!({"role": "assistant", "type": "image", "props": {"url": "a.png"}});
    client.post(&format!("{path}/messages"), message).await;
    let mut reader = Reader::open(&client, &format!("{path}/events"), None).await;
    let sent = reader.until("message").await.pop().unwrap().data;
    assert_eq!(sent["type"], "image");
    assert_eq!(sent, client.get(&format!("{path}/messages/0")).await.body());
}

#[tokio::test]
async fn usage_is_sent_after_calls_change() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let calls = format!("{path}/calls");
    let mut reader = Reader::open(&client, &format!("{path}/events"), None).await;
    assert_eq!(names(&reader.until("caught-up").await), ["caught-up"]);
    let call = json!({"prompt_tokens": 12, "completion_tokens": 4, "cost_micros_usd": 1_234});
    for _ in 0..20 {
        assert_eq!(client.post(&calls, call.clone()).await.status, 201);
    }
    let mut told = until_used(&mut reader, 20).await;
    let listed = client.get(&calls).await.body();
    assert_eq!(told.pop().unwrap().data, listed["usage"]);
    // Several changes at once become one event.
    assert!(told.len() < 20, "{told:?}");
    let call_id = listed["data"][0]["call_id"].as_str().unwrap();
    assert_eq!(client.delete(&format!("{calls}/{call_id}")).await.status, 204);
    until_used(&mut reader, 19).await;
    let exchange = json!({
        "messages": [{"role": "user", "content": "x"}],
        "call": {"call_id": "c", "total_tokens": 1},
    });
    assert_eq!(client.post(&format!("{path}/exchanges"), exchange).await.status, 201);
    until_used(&mut reader, 20).await;
    let mut late = Reader::open(&client, &format!("{path}/events"), None).await;
    late.until("caught-up").await;
    assert_eq!(until_used(&mut late, 20).await.len(), 1);
}

async fn until_used(reader: &mut Reader, calls: u64) -> Vec<Event> {
    let mut told = reader.until("usage").await;
    while told.last().is_some_and(|event| event.data["calls"] != calls) {
        told.extend(reader.until("usage").await);
    }
    told.retain(|event| event.name == "usage");
    told
}

#[tokio::test]
async fn a_reader_continues_from_its_last_event_id() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    say(&client, &path, 10).await;
    for (url, last_event_id, expected) in [
        ("events", None, 0..10),
        ("events?after=-1", None, 0..10),
        ("events?after=3", None, 4..10),
        ("events", Some("3"), 4..10),
        ("events", Some(""), 0..10),
        ("events?after=3", Some("7"), 8..10),
        ("events?after=9", None, 10..10),
        ("events?after=99", None, 10..10),
        ("events?after=99.7", None, 10..10),
    ] {
        let mut reader = Reader::open(&client, &format!("{path}/{url}"), last_event_id).await;
        let mut events = reader.until("caught-up").await;
        let caught_up = events.pop().unwrap();
        assert_eq!(
            (caught_up.data["sequence"].as_i64(), caught_up.id.as_deref()),
            (Some(9), Some("9"))
        );
        let expected: Vec<_> = expected.map(|sequence| sequence.to_string()).collect();
        assert_eq!(ids(&events), expected, "{url} {last_event_id:?}");
        assert!(events.iter().all(|event| event.name == "message"));
    }
}

#[tokio::test]
async fn an_invalid_position_is_refused() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    for after in ["", "-2", "x", "1.x", "18446744073709551616"] {
        let answer = client.get(&format!("{path}/events?after={after}")).await;
        assert_eq!(answer.problem(), (422, "invalid-request".to_owned()), "{after}");
        assert_eq!(answer.culprit(), "after");
    }
    let request = client.request("GET", &format!("{path}/events")).header("last-event-id", "x");
    let answer = client.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!((answer.problem().0, answer.culprit()), (422, "Last-Event-ID".to_owned()));
}

#[tokio::test]
async fn a_missing_chat_has_no_events() {
    let client = Client::open();
    let answer = client.get("/api/chats/acme_corp/nowhere/events").await;
    assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()));
}

/// A reader that reconnects is sent the edits that it missed, and none that it knows.
#[tokio::test]
async fn edits_made_while_a_reader_was_disconnected_are_sent() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    say(&client, &path, 5).await;
    let edit = async |sequence: usize| {
        let path = format!("{path}/messages/{sequence}");
        assert_eq!(client.patch(&path, json!({"content": "new"})).await.status, 200);
    };
    edit(1).await;
    let mut reader = Reader::open(&client, &format!("{path}/events"), None).await;
    let id = reader.until("caught-up").await.pop().unwrap().id.unwrap();
    assert_eq!(id, "4.1");
    drop(reader);
    edit(3).await;
    edit(0).await;
    edit(3).await;
    client.delete(&format!("{path}/messages/2")).await;
    say(&client, &path, 1).await;
    let mut reader = Reader::open(&client, &format!("{path}/events"), Some(&id)).await;
    let events = reader.until("caught-up").await;
    let told = ["message", "message-updated", "message-updated", "message-deleted", "caught-up"];
    assert_eq!(names(&events), told);
    let sequences: Vec<_> =
        events[..4].iter().map(|event| event.data["sequence"].as_u64()).collect();
    assert_eq!(sequences, [Some(5), Some(0), Some(3), Some(2)]);
    assert_eq!(ids(&events), ["5.1", "5.3", "5.4", "5.5", "5.5"]);

    // A position without a revision gets all edits.
    let mut reader = Reader::open(&client, &format!("{path}/events?after=5"), None).await;
    let events = reader.until("caught-up").await;
    assert_eq!(
        names(&events)[..4],
        ["message-updated"; 3].iter().chain(&["message-deleted"]).copied().collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn messages_that_named_a_deleted_call_are_sent_as_updated() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let message = json!({"role": "assistant", "content": "said"});
    let exchange = json!({"messages": [message, message], "call": {"call_id": "c"}});
    assert_eq!(client.post(&format!("{path}/exchanges"), exchange).await.status, 201);
    say(&client, &path, 1).await;
    let mut reader = Reader::open(&client, &format!("{path}/events"), None).await;
    let mut events = reader.until("caught-up").await;
    assert_eq!(events[1].data["produced_by_call_id"], "c");
    assert_eq!(client.delete(&format!("{path}/calls/c")).await.status, 204);
    events = reader.until("message-updated").await;
    events.extend(reader.until("message-updated").await);
    events.retain(|event| event.name == "message-updated");
    assert_eq!(ids(&events), ["2.1", "2.2"]);
    for (sequence, event) in events.iter().enumerate() {
        assert_eq!(event.data["sequence"], sequence);
        assert_eq!(event.data["produced_by_call_id"], Value::Null);
    }
}

/// There are more edits than the head lists, so the chat is scanned.
#[tokio::test]
async fn edits_older_than_the_list_in_the_head_are_sent() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    say(&client, &path, 300).await;
    let mut live = Reader::open(&client, &format!("{path}/events"), None).await;
    live.until("caught-up").await;
    for sequence in 0..100 {
        client.patch(&format!("{path}/messages/{sequence}"), json!({"content": "new"})).await;
    }
    let mut edited = Vec::new();
    while edited.len() < 100 {
        edited.extend(live.until("message-updated").await.pop().unwrap().data["sequence"].as_u64());
    }
    edited.dedup();
    assert_eq!(edited, (0..100).collect::<Vec<_>>());

    let mut reader = Reader::open(&client, &format!("{path}/events"), Some("250")).await;
    let events = reader.until("caught-up").await;
    let of = |name: &str| {
        let events = events.iter().filter(|event| event.name == name);
        events.map(|event| event.data["sequence"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(of("message"), (251..300).collect::<Vec<_>>());
    assert_eq!(of("message-updated"), (0..100).collect::<Vec<_>>());
    assert_eq!(events.last().unwrap().id.as_deref(), Some("299.100"));
}

#[tokio::test]
async fn a_status_comes_after_every_message_before_it() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let mut reader = Reader::open(&client, &format!("{path}/events"), None).await;
    reader.until("caught-up").await;
    say(&client, &path, 700).await;
    client.poke(&format!("{path}/complete")).await;
    let events = reader.until("status").await;
    assert_eq!(events.len(), 701);
    assert_eq!(events[700].data["status"], "completed");
}

#[tokio::test]
async fn subscribers_above_a_limit_are_refused_until_another_leaves() {
    let limits =
        LimitsConfig { subscribers: 3, subscribers_per_chat: 2, ..LimitsConfig::default() };
    let client = service(&memory(), limits);
    let (one, other) = (client.create_chat("c1").await, client.create_chat("c2").await);
    let (one, other) = (format!("{one}/events"), format!("{other}/events"));
    let first = Reader::open(&client, &one, None).await;
    let _second = Reader::open(&client, &one, None).await;
    let refused = client.get(&one).await;
    assert_eq!(refused.problem(), (503, "too-many-subscribers".to_owned()));
    assert_eq!(refused.header("retry-after"), "5");
    assert_json_snapshot!("too_many", refused.snapshot());
    let _third = Reader::open(&client, &other, None).await;
    let refused = client.get(&other).await;
    assert_eq!(refused.problem(), (503, "too-many-subscribers".to_owned()));
    drop(first);
    let _again = Reader::open(&client, &one, None).await;
}

#[tokio::test]
async fn comments_keep_an_idle_stream_alive() {
    let client = service(&memory(), LimitsConfig { keep_alive_ms: 20, ..LimitsConfig::default() });
    let path = client.create_chat("c1").await;
    let mut reader = Reader::open(&client, &format!("{path}/events"), None).await;
    reader.until("caught-up").await;
    while reader.others.len() < 2 {
        let _nothing = timeout(Duration::from_millis(50), reader.next()).await;
    }
    assert_eq!(reader.others[0], ": alive");
}

#[tokio::test]
async fn a_stream_ends_with_the_token() {
    let auth = service::AuthConfig { leeway_sec: 1, ..hs256() };
    let client = Client::over(memory(), Config { auth, ..Config::default() });
    let short = client.with_token(token(&json!({"exp": seconds(1)})));
    let path = short.create_chat("c1").await;
    let mut reader = Reader::open(&short, &format!("{path}/events"), None).await;
    reader.until("caught-up").await;
    assert_eq!(reader.next().await, None);
    let expired = short.get(&format!("{path}/events")).await;
    assert_eq!(expired.problem(), (401, "unauthenticated".to_owned()));
}

#[tokio::test]
async fn only_callers_that_may_see_a_chat_may_subscribe_to_it() {
    let client = Client::over(memory(), Config { auth: hs256(), ..Config::default() });
    let alice = client.with_token(token(&json!({})));
    let new = json!({"chat_id": "c1", "workflow_name": "Generator", "visibility": "private"});
    assert_eq!(alice.post("/api/chats/acme_corp", new).await.status, 201);
    let url = "/api/chats/acme_corp/c1/events";
    Reader::open(&alice, url, None).await.until("caught-up").await;
    let unknown = alice.get("/api/chats/acme_corp/c2/events").await;
    for claims in [json!({"sub": "bob"}), json!({"apps": ["other"]})] {
        let answer = client.with_token(token(&claims)).get(url).await;
        assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()));
        assert_eq!(answer.body()["detail"], unknown.text_of("detail").replace("c2", "c1"));
    }
}

/// The whole promise of live chats, under every kind of change.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_subscriber_sees_every_message_once_and_in_order() {
    const MESSAGES: u64 = 3_000;
    let store = memory();
    let services =
        [service(&store, LimitsConfig::default()), service(&store, LimitsConfig::default())];
    let path = services[0].create_chat("c1").await;
    let writers = (0..6).map(|writer: usize| {
        let (client, path) = (services[writer % 2].clone(), path.clone());
        tokio::spawn(async move {
            let mut left = MESSAGES / 6;
            while left > 0 {
                let count = fastrand::u64(1..=left.min(9));
                say(&client, &path, usize::try_from(count).unwrap()).await;
                left -= count;
                tokio::task::yield_now().await;
            }
        })
    });
    let readers = (0..200).map(|reader: usize| {
        let (client, path) = (services[reader % 2].clone(), path.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_micros(fastrand::u64(0..900_000))).await;
            let mut seen = Vec::new();
            let mut id: Option<String> = None;
            while seen.len() < usize::try_from(MESSAGES).unwrap() {
                let url = format!("{path}/events");
                let mut stream = Reader::open(&client, &url, id.as_deref()).await;
                for _ in 0..fastrand::usize(1..2_000) {
                    let event = stream.next().await.unwrap();
                    id = event.id.or(id);
                    if event.name == "message" {
                        seen.push(event.data["sequence"].as_u64().unwrap());
                    }
                    if seen.len() == usize::try_from(MESSAGES).unwrap() {
                        break;
                    }
                }
            }
            assert!(seen.into_iter().eq(0..MESSAGES), "reader {reader}");
        })
    });
    let tasks: Vec<_> = writers.chain(readers).collect();
    futures::future::try_join_all(tasks).await.unwrap();
}

#[tokio::test]
async fn a_slow_reader_delays_no_other_and_misses_nothing() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let url = format!("{path}/events");
    let mut slow = Reader::open(&client, &url, None).await;
    let mut quick = Reader::open(&client, &url, None).await;
    slow.until("caught-up").await;
    quick.until("caught-up").await;
    for _ in 0..10 {
        say(&client, &path, 200).await;
        let mut events = Vec::new();
        while events.len() < 200 {
            events.push(quick.next().await.unwrap());
        }
    }
    for sequence in 0..2_000 {
        let event = slow.next().await.unwrap();
        assert_eq!(
            (event.name.as_str(), event.data["sequence"].as_u64()),
            ("message", Some(sequence))
        );
    }
}

#[tokio::test]
async fn routers_do_not_outlive_their_last_reader() {
    let store = memory();
    let client = service(&store, LimitsConfig::default());
    let path = client.create_chat("c1").await;
    let reader = Reader::open(&client, &format!("{path}/events"), None).await;
    drop(client);
    drop(reader);
    while Arc::strong_count(&store) > 1 {
        tokio::task::yield_now().await;
    }
    let _again = router(store, Config::default()).unwrap();
}
