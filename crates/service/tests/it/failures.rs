//! The responses when the store or the service fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use insta::assert_json_snapshot;
use persistence::memory::MemoryStore;
use serde_json::{Value, json};
use service::{Config, LimitsConfig};

use crate::faulty::{Fault, faulty, faulty_throughout};
use crate::harness::{Answer, Client, memory};
use crate::openapi::{document, example_of_body, filled, operations};
use crate::rights::required_query;

/// The paths that answer without the store. A sign-in needs it, and has tests of its own. The events of documents are open while
/// the store is away.
const WITHOUT_STORE: [&str; 5] =
    ["/api/health", "/metrics", "/api/sign-", "/api/session", "/api/document-events"];

fn client(fault: Fault) -> Client {
    Client::over(faulty(fault), Config::default())
}

fn hurried(store: Arc<MemoryStore>) -> Client {
    let limits = LimitsConfig { request_timeout_ms: 20, ..LimitsConfig::default() };
    let config = Config { limits, ..Config::default() };
    Client::over(store, config)
}

const CHAT: &str = "/api/chats/acme_corp/c1";

/// A route that needs the store, about one app.
struct Route {
    name: String,
    method: String,
    path: String,
    body: Value,
}

impl Route {
    /// Returns every route of the OpenAPI document.
    async fn all(app_id: &str) -> Vec<Self> {
        let document = document().await;
        let needing_the_store = operations(&document)
            .filter(|(path, ..)| !WITHOUT_STORE.iter().any(|other| path.starts_with(other)));
        let routes = needing_the_store.map(|(path, method, operation)| {
            let name = operation["operationId"].as_str().unwrap().to_owned();
            let query = required_query(&name).replace("acme_corp", app_id);
            let path = filled(&format!("{path}{query}"), app_id);
            let (method, body) = (method.to_uppercase(), body(&document, operation, app_id));
            Self { name, method, path, body }
        });
        routes.collect()
    }

    async fn call(&self, client: &Client) -> Answer {
        if self.method == "GET" {
            return client.get(&self.path).await;
        }
        client.json(&self.method, &self.path, self.body.to_string()).await
    }
}

/// Returns a valid body for the operation: its example, in the app.
fn body(document: &Value, operation: &Value, app_id: &str) -> Value {
    let mut body = example_of_body(document, operation).unwrap_or_default();
    if let Some(app) = body.get_mut("app_id") {
        *app = app_id.into();
    }
    body
}

/// The handler fails, or the look-up of its app.
#[tokio::test]
async fn every_route_reports_an_unreachable_store() {
    let mut routes = Route::all("acme_corp").await;
    let at_the_look_up = faulty_throughout(Fault::Unavailable);
    let in_the_handler = faulty(Fault::Unavailable);
    for store in [at_the_look_up, in_the_handler] {
        let client = Client::over(store, Config::default());
        for route in &routes {
            let answer = route.call(&client).await;
            assert_eq!(answer.problem(), (503, "store-unavailable".to_owned()), "{}", route.path);
            assert_eq!(answer.header("retry-after"), "2", "rounded up from 1.5 s");
        }
        // Its handler is that look-up, which does not fail in the second store.
        routes.retain(|route| route.name != "get_app");
    }
}

#[tokio::test]
async fn every_route_reports_its_deadline_as_read_or_write() {
    let client = hurried(faulty_throughout(Fault::Hang));
    let mut routes = Route::all("acme_corp").await;
    // A history and a plan have no deadline: what they read from the store has.
    routes.retain(|route| !["get_history", "get_resume"].contains(&&*route.name));
    for route in routes {
        let answer = route.call(&client).await;
        let is_read = route.method == "GET";
        let expected = if is_read { (503, "deadline-exceeded") } else { (504, "outcome-unknown") };
        let (status, slug) = answer.problem();
        assert_eq!((status, slug.as_str()), expected, "{} {}", route.method, route.path);
        assert_eq!(answer.header("retry-after"), "1");
    }
}

#[tokio::test]
async fn failures_of_the_store_are_reported_without_their_messages() {
    for (name, fault) in [
        ("unavailable", Fault::Unavailable),
        ("outcome_unknown", Fault::OutcomeUnknown),
        ("overloaded", Fault::Overloaded),
        ("refused", Fault::Refused),
        ("corrupt", Fault::Corrupt),
        ("unsupported_version", Fault::UnsupportedVersion),
    ] {
        let message = json!({"role": "user", "content": "x"});
        let answer = client(fault).post(&format!("{CHAT}/messages"), message).await;
        assert_json_snapshot!(name, answer.snapshot());
        assert!(!answer.text.contains("mongodb://"), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_write_of_unknown_outcome_says_when_to_repeat_it() {
    let message = json!({"role": "user", "content": "x"});
    let path = format!("{CHAT}/messages");
    let answer = client(Fault::OutcomeUnknown).post(&path, message).await;
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn a_fork_while_an_upgrade_is_not_finished_says_what_to_do() {
    let answer = client(Fault::UpgradePending).post(&format!("{CHAT}/fork"), json!({})).await;
    assert_json_snapshot!("upgrade_pending", answer.snapshot());
    assert_eq!(answer.header("retry-after"), "60");
}

#[tokio::test]
async fn a_list_by_a_key_that_is_being_indexed_says_when_to_repeat_it() {
    let answer =
        client(Fault::IndexingMetadata).get("/api/chats/acme_corp?metadata=customer:a").await;
    assert_json_snapshot!("indexing_metadata", answer.snapshot());
    assert_eq!(answer.header("retry-after"), "5");
}

#[tokio::test]
async fn a_panic_is_answered_and_the_next_request_too() {
    let client = client(Fault::Panic);
    for _ in 0..2 {
        let answer = client.get(CHAT).await;
        assert_json_snapshot!("panic", answer.snapshot());
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
}

#[tokio::test]
async fn a_read_past_the_deadline_can_be_retried() {
    let answer = hurried(faulty(Fault::Hang)).get(CHAT).await;
    assert_json_snapshot!("read_deadline", answer.snapshot());
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn a_body_that_never_ends_is_cut_off_by_the_deadline() {
    let stalled = futures::stream::pending::<Result<String, std::io::Error>>();
    let client = hurried(faulty(Fault::Hang));
    let request = client
        .request("POST", "/api/chats/acme_corp")
        .header("content-type", "application/json")
        .body(axum::body::Body::from_stream(stalled));
    let answer = client.send(request.unwrap()).await;
    assert_json_snapshot!("body_timeout", answer.snapshot());
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn a_write_that_hangs_after_its_body_has_an_unknown_outcome() {
    let text = json!({"workflow_name": "Generator"}).to_string();
    let (first, second) = text.split_at(5);
    let parts = [first, second].map(|part| Ok::<_, std::io::Error>(part.to_owned()));
    let slow = futures::stream::iter(parts).then(async |part| {
        tokio::task::yield_now().await;
        part
    });
    let client = hurried(faulty(Fault::Hang));
    let request = client
        .request("POST", "/api/chats/acme_corp")
        .header("content-type", "application/json")
        .body(axum::body::Body::from_stream(slow));
    let answer = client.send(request.unwrap()).await;
    assert_eq!(answer.problem(), (504, "outcome-unknown".to_owned()));
}

#[tokio::test]
async fn the_service_lives_without_a_store_and_is_ready_with_one() {
    let away = client(Fault::Unavailable);
    assert_json_snapshot!("live", away.get("/api/health/live").await.snapshot());
    assert_json_snapshot!("not_ready", away.get("/api/health/ready").await.snapshot());
    let there = Client::over(memory(), Config::default());
    assert_json_snapshot!("ready", there.get("/api/health/ready").await.snapshot());
}

#[tokio::test]
async fn a_store_that_hangs_is_not_ready_after_two_seconds() {
    let started = Instant::now();
    let answer = client(Fault::Hang).get("/api/health/ready").await;
    assert_eq!(answer.status, 503);
    let patience = Duration::from_secs(2)..Duration::from_secs(5);
    assert!(patience.contains(&started.elapsed()));
}
