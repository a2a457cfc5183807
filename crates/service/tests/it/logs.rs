//! What is logged, and what never is.

use std::io::{self, Write};
use std::sync::{Arc, LazyLock, Mutex};

use axum::body::{Body, to_bytes};
use serde_json::{Value, json};
use service::{Config, router};
use tower::ServiceExt as _;
use tracing::Dispatch;
use tracing_subscriber::fmt::MakeWriter;

use crate::faulty::{DRIVER_SAYS, Fault, faulty};
use crate::harness::Client;
use crate::tokens::{SECRET, client, hs256, token};

/// A second subscriber, which keeps nothing. While there is one alone, `tracing` asks only the
/// thread that reaches an event first, and if that is another test, the event is off for all.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(tracing_subscriber::registry()));

/// A log in memory.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    /// Logs everything this thread says from now on, while the guard lives.
    fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        LazyLock::force(&SECOND);
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(log.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn lines(&self) -> Vec<Value> {
        let text = self.text();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[tokio::test]
async fn a_request_is_one_line_with_its_route_status_and_id() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let (log, _guard) = Log::start();
    client.get(&format!("{path}/messages?limit=5")).await;
    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let fields = &lines[0]["fields"];
    assert_eq!(fields["message"], "request answered");
    assert_eq!(fields["method"], "GET");
    assert_eq!(fields["route"], "/api/chats/{app_id}/{chat_id}/messages");
    assert_eq!(fields["status"], 200);
    assert_eq!(fields["http_request_id"], "req_test");
    assert!(fields["latency_ms"].is_u64());
}

#[tokio::test]
async fn an_invented_method_is_not_logged() {
    let client = Client::open();
    let (log, _guard) = Log::start();
    let method = "INVENTED".repeat(2_500);
    let request = client.request(&method, "/api/health/live").body(Body::empty()).unwrap();
    assert_eq!(client.send(request).await.status, 405);
    let text = log.text();
    assert!(!text.contains("INVENTED"), "{} bytes are logged", text.len());
    assert_eq!(log.lines()[0]["fields"]["method"], "other");
}

#[tokio::test]
async fn a_failure_of_the_store_is_logged_once_with_its_cause_and_the_request() {
    let client = Client::over(faulty(Fault::Unavailable), Config::default());
    let (log, _guard) = Log::start();
    client.get("/api/chats/acme_corp/c1").await;
    assert_eq!(log.text().matches(DRIVER_SAYS).count(), 1, "{}", log.text());
    let lines = log.lines();
    let failure = lines.iter().find(|line| line["level"] == "ERROR").unwrap();
    assert_eq!(failure["span"]["http_request_id"], "req_test");
    assert_eq!(failure["fields"]["problem"], "store-unavailable");
}

#[tokio::test]
async fn an_aborted_response_is_logged_with_its_cause_and_the_request() {
    let app = router(faulty(Fault::BreakOff(500)), Config::default()).unwrap();
    let request = Client::open().request("GET", "/api/chats/acme_corp/c1/history");
    let (log, _guard) = Log::start();
    let response = app.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert!(to_bytes(response.into_body(), usize::MAX).await.is_err());
    assert_eq!(log.text().matches(DRIVER_SAYS).count(), 1, "{}", log.text());
    let lines = log.lines();
    let failure = lines.iter().find(|line| line["level"] == "ERROR").unwrap();
    assert_eq!(failure["fields"]["message"], "response aborted");
    assert_eq!(failure["fields"]["http_request_id"], "req_test");
}

const CANARY: &str = "c4n4ry";

/// Sends the canary in everything a caller controls.
async fn sing(client: &Client) {
    let path = format!("/api/chats/acme_corp/{CANARY}");
    let text = format!("{CANARY}\n\u{1b}[31m");
    let chat = json!({"chat_id": CANARY, "workflow_name": CANARY, "title": text, "user_id": CANARY,
        "metadata": {CANARY: text}});
    let message = json!({"event_id": CANARY, "role": CANARY, "name": CANARY, "content": text,
        "metadata": {CANARY: text}});
    client.post("/api/chats/acme_corp", chat.clone()).await;
    client.post("/api/chats/acme_corp", chat).await;
    client.post(&format!("{path}/messages"), message.clone()).await;
    client.post(&format!("{path}/initial-messages"), message).await;
    client.patch(&format!("{path}/messages/0"), json!({"content": text})).await;
    client.put(&format!("{path}/context"), json!({CANARY: text})).await;
    client.put(&format!("{path}/artifact"), json!({"payload": text})).await;
    client.post(&format!("{path}/pause"), json!({"reason": text})).await;
    client.post("/api/chats/acme_corp", json!({"workflow_name": {CANARY: text}})).await;
    client.json("POST", "/api/chats/acme_corp", format!("{{{CANARY}")).await;
    for below in
        ["", "/meta", "/messages", "/history", "/nowhere", "/messages/99", "/messages/x%0ay"]
    {
        client.get(&format!("{path}{below}?{CANARY}={CANARY}%0a%1b")).await;
        client.get(&format!("{path}{below}")).await;
    }
    client.get(&format!("/api/chats/{CANARY}%0a%1b[31m")).await;
    client.get(&format!("/{CANARY}%0a")).await;
    let request = client
        .request("GET", &path)
        .header("user-agent", format!("{CANARY} \u{fe0f}"))
        .header("x-forwarded-for", CANARY)
        .header("cookie", CANARY);
    client.send(request.body(Body::empty()).unwrap()).await;
    let mut forged = client.request("GET", &path).body(Body::empty()).unwrap();
    let id = format!("{CANARY} not well formed").parse().unwrap();
    forged.headers_mut().insert("x-request-id", id);
    client.send(forged).await;
}

#[tokio::test]
async fn nothing_a_caller_sends_reaches_the_log() {
    let (log, _guard) = Log::start();
    sing(&Client::open()).await;
    for fault in [Fault::Unavailable, Fault::Refused, Fault::Panic] {
        sing(&Client::over(faulty(fault), Config::default())).await;
    }
    assert!(log.lines().len() > 100);
    assert!(!log.text().contains(CANARY), "{}", log.text());
    assert!(!log.text().contains('\u{1b}'));
}

#[tokio::test]
async fn no_token_and_no_secret_reaches_the_log_or_an_answer() {
    let (log, _guard) = Log::start();
    let client = client(hs256());
    let good = token(&json!({"sub": CANARY}));
    let mut answers = String::new();
    for token in [&good, &good[1..], &good[..good.len() - 1], CANARY, "a.b.c"] {
        let answer = client.with_token(token).get("/api/chats/acme_corp").await;
        answers.push_str(&answer.text);
    }
    for text in [log.text(), answers] {
        for secret in [SECRET, CANARY, &good, good.rsplit('.').next().unwrap()] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[tokio::test]
async fn no_ticket_reaches_the_log() {
    let (log, _guard) = Log::start();
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let ticket = client.poke(&format!("{path}/tickets")).await.text_of("ticket");
    let join = "/ws/Generator/acme_corp/c1/alice";
    for url in [format!("{path}/events"), format!("{path}/meta"), join.to_owned()] {
        for ticket in [&ticket, CANARY] {
            let request = client.request("GET", &format!("{url}?ticket={ticket}"));
            // The stream does not end, so the test does not wait for it.
            client.app().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        }
    }
    assert_eq!(log.lines().iter().filter(|line| line["fields"]["status"] == 200).count(), 1);
    assert!(!log.text().contains(&ticket) && !log.text().contains(CANARY), "{}", log.text());
}
