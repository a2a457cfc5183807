//! What callers use at the same time: memory, turns to read, and what a slow or impatient caller leaves to others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::{self, BoxStream};
use persistence::memory::{Faults, MemoryStore};
use persistence::metrics::Call;
use persistence::{ChatHead, StoreError};
use records::Message;
use serde_json::json;
use service::{Config, LimitsConfig};
use tokio::time::{interval, sleep};
use tower::ServiceExt as _;

use crate::harness::{Client, memory};
use crate::serve::start_with;
use crate::socket::{JOIN, Received, Socket};

/// A service with memory for one large body of each subject.
fn tight() -> Client {
    let limits = LimitsConfig {
        body_bytes: 16_000,
        memory_bytes: 96 << 10,
        memory_bytes_per_subject: 48 << 10,
        memory_wait_ms: 20,
        ..LimitsConfig::default()
    };
    Client::over(memory(), Config { limits, ..Config::default() })
}

async fn begin(client: &Client, request: Request<Body>) -> Response {
    client.app().oneshot(request).await.unwrap()
}

#[tokio::test]
async fn the_end_of_a_small_stream_takes_little_memory() {
    let limits = LimitsConfig {
        body_bytes: 1 << 20,
        memory_bytes: 16 << 20,
        memory_bytes_per_subject: 8 << 20,
        memory_wait_ms: 20,
        ..LimitsConfig::default()
    };
    let client = Client::over(memory(), Config { limits, ..Config::default() });
    let chat = client.create_chat("c1").await;
    let new = json!({"stream_id": "s1", "format": "text"});
    assert_eq!(client.post(&format!("{chat}/streams"), new).await.status, 201);
    let stream = format!("{chat}/streams/s1");
    client.post(&format!("{stream}/chunks"), json!({"from": 0, "chunks": ["hello"]})).await;
    let ended = client.post(&format!("{stream}/end"), json!({"state": "finished"})).await;
    assert_eq!(ended.status, 200, "{}", ended.text);
}

fn overloaded() -> (u16, String) {
    (503, "overloaded".to_owned())
}

#[tokio::test]
async fn a_body_that_never_ends_holds_the_memory_of_its_sender_alone() {
    let client = tight();
    let begun = stream::iter([Ok::<_, StoreError>("{".to_owned())]);
    let endless = client
        .request("POST", "/api/chats/acme_corp")
        .header("content-type", "application/json")
        .header("content-length", 16_000)
        .body(Body::from_stream(begun.chain(stream::pending())))
        .unwrap();
    let sender = client.clone();
    let sending = tokio::spawn(async move { begin(&sender, endless).await });
    sleep(Duration::from_millis(20)).await;

    let new = json!({"workflow_name": "w"});
    let refused = client.post("/api/chats/acme_corp", new.clone()).await;
    assert_eq!((refused.problem(), refused.header("retry-after")), (overloaded(), "1"));
    assert_eq!(client.post("/api/chats/other", new.clone()).await.status, 201);
    sending.abort();
    let _ = sending.await;
    assert_eq!(client.post("/api/chats/acme_corp", new).await.status, 201);
}

#[tokio::test]
async fn a_body_that_is_only_announced_holds_no_memory() {
    let client = tight();
    let announced = client
        .request("POST", "/api/chats/acme_corp")
        .header("content-type", "application/json")
        .header("content-length", 16_000)
        .body(Body::from_stream(stream::pending::<Result<String, StoreError>>()))
        .unwrap();
    let sender = client.clone();
    let sending = tokio::spawn(async move { begin(&sender, announced).await });
    sleep(Duration::from_millis(20)).await;
    let new = json!({"workflow_name": "w"});
    assert_eq!(client.post("/api/chats/acme_corp", new).await.status, 201);
    sending.abort();
}

#[tokio::test]
async fn a_page_holds_memory_until_it_is_written() {
    let client = tight();
    let path = format!("{}/messages", client.create_chat("c1").await);
    for _ in 0..4 {
        client.post(&path, json!({"role": "user", "content": "x".repeat(11_000)})).await;
    }
    let slow = begin(&client, client.request("GET", &path).body(Body::empty()).unwrap()).await;
    assert_eq!(slow.status(), 200);
    let refused = client.get(&path).await;
    assert_eq!((refused.problem(), refused.header("retry-after")), (overloaded(), "1"));
    drop(slow);
    assert_eq!(client.get(&path).await.body()["data"].as_array().unwrap().len(), 4);
}

/// Delays each read of messages, and counts those that run at the same time.
#[derive(Debug, Default)]
struct SlowReads {
    pause: Duration,
    begun: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl SlowReads {
    fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(running, Ordering::Relaxed);
    }
}

#[async_trait]
impl Faults for SlowReads {
    async fn before(&self, call: Call) -> Result<(), StoreError> {
        if call == Call::Messages {
            self.begin();
            sleep(self.pause).await;
            self.running.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn history<'a>(
        &'a self,
        messages: BoxStream<'a, Result<Message, StoreError>>,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        self.begin();
        messages
    }
}

fn slow_store(pause: Duration) -> (Arc<MemoryStore>, Arc<SlowReads>) {
    let reads = Arc::new(SlowReads { pause, ..SlowReads::default() });
    let store = MemoryStore::default().with_faults(Arc::<SlowReads>::clone(&reads));
    (Arc::new(store), reads)
}

#[tokio::test]
async fn frames_of_a_client_that_catches_up_repeat_no_read() {
    let (store, reads) = slow_store(Duration::from_millis(400));
    let client = Client::over(Arc::<MemoryStore>::clone(&store), Config::default());
    let path = format!("{}/messages", client.create_chat("c1").await);
    client.post(&path, json!({"role": "user", "content": "x"})).await;
    let server = start_with(store, Config::default()).await;
    let mut socket = Socket::open(&server, JOIN).await;
    let started = Instant::now();
    let mut frames = interval(Duration::from_millis(60));
    loop {
        tokio::select! {
            _ = frames.tick() => socket.send(json!({"type": "unknown"})).await,
            received = socket.receive() => match received {
                Received::Frame(frame) if frame["type"] == "chat.text" => break,
                Received::Frame(_) => {}
                other => panic!("{other:?}"),
            },
        }
        assert!(started.elapsed() < Duration::from_secs(4), "the client receives nothing");
    }
    assert_eq!(reads.begun.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_herd_that_missed_many_edits_takes_turns_to_read() {
    const CLIENTS: usize = 100;
    let (store, reads) = slow_store(Duration::from_millis(5));
    let client = Client::over(store, Config::default());
    let path = client.create_chat("c1").await;
    client.post(&format!("{path}/messages"), json!({"role": "user", "content": "x"})).await;
    for edit in 0..=ChatHead::RECENT_EDITS {
        client.patch(&format!("{path}/messages/0"), json!({"content": edit})).await;
    }
    let herd = (0..CLIENTS).map(|_| async {
        let request = client.request("GET", &format!("{path}/events")).header("last-event-id", "0");
        let response = begin(&client, request.body(Body::empty()).unwrap()).await;
        let mut events = response.into_body().into_data_stream();
        let mut received = String::new();
        while !received.contains("event: caught-up") {
            received.push_str(&String::from_utf8_lossy(&events.next().await.unwrap().unwrap()));
        }
        assert_eq!(received.matches("event: message-updated").count(), 1, "{received}");
    });
    join_all(herd).await;
    let most = reads.most.load(Ordering::Relaxed);
    assert!((1..=16).contains(&most), "{most} at once");
}
