//! `GET /metrics`, and who may read it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures::future::join_all;
use insta::{assert_json_snapshot, assert_snapshot};
use persistence::memory::MemoryStore;
use records::AppId;
use serde_json::json;
use service::{Config, MetricsConfig};
use tokio::time::timeout;

use crate::faulty::{Fault, faulty};
use crate::harness::{Client, memory};
use crate::tokens::{hs256, token};

const MESSAGES: &str = "/api/chats/{app_id}/{chat_id}/messages";

/// A response of `GET /metrics`.
pub(crate) struct Exposition(pub(crate) String);

impl Exposition {
    async fn of(client: &Client) -> Self {
        let answer = client.get("/metrics").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        Self(answer.text)
    }

    /// Returns the value of a series, named with its labels as they stand.
    pub(crate) fn value(&self, series: &str) -> Option<u64> {
        let after = |line: &str| line.strip_prefix(series)?.strip_prefix(' ').map(str::to_owned);
        self.0.lines().find_map(after).map(|value| value.parse().unwrap())
    }

    /// Returns every series without its value.
    fn series(&self) -> Vec<&str> {
        let lines = self.0.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.rsplit_once(' ').unwrap().0).collect()
    }

    fn answers(&self, method: &str, route: &str, status: &str) -> Option<u64> {
        let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
        self.value(&format!("reprise_http_requests_total{{{labels}}}"))
    }

    fn durations(&self, method: &str, route: &str) -> Option<u64> {
        let labels = format!("method=\"{method}\",route=\"{route}\"");
        self.value(&format!("reprise_http_request_duration_seconds_count{{{labels}}}"))
    }

    fn calls(&self, call: &str, outcome: &str) -> Option<u64> {
        let labels = format!("call=\"{call}\",outcome=\"{outcome}\"");
        self.value(&format!("reprise_store_calls_total{{{labels}}}"))
    }

    fn by_app(&self, app: &str, status: &str) -> Option<u64> {
        self.value(&format!("reprise_app_requests_total{{app=\"{app}\",status=\"{status}\"}}"))
    }
}

/// Calls a service that names these apps in its metrics.
fn client(apps: &[&str]) -> Client {
    let apps = apps.iter().map(|app| AppId::parse(*app).unwrap()).collect();
    let metrics = MetricsConfig { apps, ..MetricsConfig::default() };
    Client::over(Arc::new(MemoryStore::default()), Config { metrics, ..Config::default() })
}

fn with_tokens(public: bool) -> Client {
    let metrics = MetricsConfig { public, ..MetricsConfig::default() };
    Client::over(memory(), Config { auth: hs256(), metrics, ..Config::default() })
}

fn message(event_id: &str) -> serde_json::Value {
    json!({"event_id": event_id, "role": "user", "content": "hello"})
}

#[tokio::test]
async fn every_metric_has_a_type_and_a_text() {
    let client = client(&[]);
    client.create_chat("c1").await;
    let exposition = Exposition::of(&client).await;
    let about: Vec<_> = exposition.0.lines().filter(|line| line.starts_with("# ")).collect();
    assert_snapshot!("metrics", about.join("\n"));
}

#[tokio::test]
async fn it_is_openmetrics_text() {
    let answer = Client::open().get("/metrics").await;
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(answer.header("content-type"), media_type);
    assert!(answer.text.ends_with("\n# EOF\n"));
}

#[tokio::test]
async fn known_requests_give_exactly_these_counts() {
    let client = client(&["acme_corp"]);
    let chat = client.create_chat("c1").await;
    let messages = format!("{chat}/messages");
    for event_id in ["e1", "e2", "e1"] {
        client.post(&messages, message(event_id)).await;
    }
    client.post(&messages, json!({"role": 7})).await;
    client.post("/api/chats/acme_corp/c2/messages", message("e1")).await;
    client.post("/api/chats/globex/c1/messages", message("e1")).await;
    client.get(&messages).await;
    client.put(&messages, json!({})).await;
    client.get("/nowhere").await;
    client.json("BREW", "/nowhere", "").await;

    let exposition = Exposition::of(&client).await;
    assert_eq!(exposition.answers("POST", "/api/chats/{app_id}", "2xx"), Some(1));
    assert_eq!(exposition.answers("POST", MESSAGES, "2xx"), Some(3));
    assert_eq!(exposition.answers("POST", MESSAGES, "4xx"), Some(3));
    assert_eq!(exposition.answers("POST", MESSAGES, "5xx"), None);
    assert_eq!(exposition.answers("GET", MESSAGES, "2xx"), Some(1));
    assert_eq!(exposition.answers("PUT", MESSAGES, "4xx"), Some(1));
    assert_eq!(exposition.answers("GET", "unmatched", "4xx"), Some(1));
    assert_eq!(exposition.answers("other", "unmatched", "4xx"), Some(1));
    assert_eq!(exposition.durations("POST", MESSAGES), Some(6));
    assert_eq!(exposition.durations("GET", "/metrics"), None, "it is under way");
    assert_eq!(exposition.value("reprise_http_requests_in_flight"), Some(1));
    assert_eq!(exposition.by_app("acme_corp", "2xx"), Some(5));
    assert_eq!(exposition.by_app("acme_corp", "4xx"), Some(3));
    assert_eq!(exposition.by_app("other", "4xx"), Some(1));
    assert_eq!(exposition.calls("append", "ok"), Some(3));
    assert_eq!(exposition.calls("append", "not_found"), Some(2));
    assert_eq!(exposition.calls("append", "unavailable"), Some(0));
    let messages = |outcome| format!("reprise_store_messages_total{{outcome=\"{outcome}\"}}");
    assert_eq!(exposition.value(&messages("stored")), Some(2));
    assert_eq!(exposition.value(&messages("duplicate")), Some(1));

    let exposition = Exposition::of(&client).await;
    assert_eq!(exposition.answers("GET", "/metrics", "2xx"), Some(1));
}

#[tokio::test]
async fn a_thousand_apps_and_chats_create_no_more_series_than_one() {
    let client = client(&["acme_corp", "globex"]);
    let visit = async |app: &str, chat: &str| {
        let body = json!({"chat_id": chat, "workflow_name": format!("workflow_{chat}")});
        client.post(&format!("/api/chats/{app}"), body).await;
        let messages = format!("/api/chats/{app}/{chat}/messages");
        client.post(&messages, message("e1")).await;
        client.get(&format!("/api/chats/{app}/nowhere_{chat}")).await;
        client.get(&format!("/nowhere/{app}/{chat}")).await;
        client.json(&format!("BREW{chat}"), &messages, "").await;
    };
    for app in ["acme_corp", "globex", "initech"] {
        visit(app, &format!("c_{app}")).await;
    }
    Exposition::of(&client).await;
    let before = Exposition::of(&client).await;
    for index in 0..1_000 {
        visit(&format!("app_{index}"), &format!("chat_{index}")).await;
    }
    let after = Exposition::of(&client).await;
    assert_eq!(before.series(), after.series());
    assert!(!after.0.contains("app_1") && !after.0.contains("chat_1"));
    assert_eq!(after.by_app("other", "2xx"), Some(2_002));
    assert_eq!(after.by_app("globex", "2xx"), Some(2));
}

#[tokio::test]
async fn by_default_no_app_has_a_label() {
    let client = client(&[]);
    client.create_chat("c1").await;
    let exposition = Exposition::of(&client).await;
    assert!(!exposition.0.contains("acme_corp"));
    assert_eq!(exposition.by_app("other", "2xx"), Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_made_at_once_are_all_counted() {
    let client = client(&[]);
    let chat = client.create_chat("c1").await;
    let callers = (0..20).map(|_| {
        let (client, chat) = (client.clone(), chat.clone());
        tokio::spawn(async move {
            for _ in 0..50 {
                client.get(&chat).await;
                Exposition::of(&client).await;
            }
        })
    });
    for caller in join_all(callers).await {
        caller.unwrap();
    }
    let exposition = Exposition::of(&client).await;
    assert_eq!(exposition.answers("GET", "/api/chats/{app_id}/{chat_id}", "2xx"), Some(1_000));
    assert_eq!(exposition.durations("GET", "/api/chats/{app_id}/{chat_id}"), Some(1_000));
    assert_eq!(exposition.answers("GET", "/metrics", "2xx"), Some(1_000));
    assert_eq!(exposition.calls("get_chat", "ok"), Some(1_000));
    assert_eq!(exposition.value("reprise_http_requests_in_flight"), Some(1));
}

#[tokio::test]
async fn an_abandoned_request_is_counted_as_aborted() {
    let client = Client::over(faulty(Fault::Hang), Config::default());
    let chat = client.get("/api/chats/acme_corp/c1");
    timeout(Duration::from_millis(20), chat).await.unwrap_err();
    let exposition = Exposition::of(&client).await;
    let route = "/api/chats/{app_id}/{chat_id}";
    assert_eq!(exposition.answers("GET", route, "aborted"), Some(1));
    assert_eq!(exposition.calls("get_chat", "cancelled"), Some(1));
    assert_eq!(exposition.value("reprise_http_requests_in_flight"), Some(1));
}

#[tokio::test]
async fn a_failing_store_shows_as_outcomes_and_as_5xx() {
    let client = Client::over(faulty(Fault::Overloaded), Config::default());
    client.post("/api/chats/acme_corp/c1/messages", message("e1")).await;
    let exposition = Exposition::of(&client).await;
    assert_eq!(exposition.answers("POST", MESSAGES, "5xx"), Some(1));
    assert_eq!(exposition.calls("append", "overloaded"), Some(1));
}

#[tokio::test]
async fn without_tokens_programs_of_this_machine_may_read_them() {
    let client = Client::open();
    assert_eq!(client.get("/metrics").await.status, 200);
    let foreign = client.request("GET", "/metrics").header("host", "evil.example");
    let answer = client.send(foreign.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.problem(), (403, "forbidden-origin".to_owned()));
}

#[tokio::test]
async fn with_tokens_only_services_and_operators_may_read_them() {
    let client = with_tokens(false);
    assert_eq!(client.get("/metrics").await.problem(), (401, "unauthenticated".to_owned()));
    for changes in [json!({}), json!({"role": "admin"}), json!({"apps": ["*"]})] {
        let answer = client.with_token(token(&changes)).get("/metrics").await;
        assert_eq!(answer.problem(), (403, "forbidden-role".to_owned()), "{changes}");
    }
    let user = client.with_token(token(&json!({}))).get("/metrics").await;
    assert_json_snapshot!("forbidden_role", user.snapshot());
    for role in ["service", "operator"] {
        let client = client.with_token(token(&json!({"role": role, "apps": null})));
        assert_eq!(client.get("/metrics").await.status, 200, "{role}");
    }
}

#[tokio::test]
async fn an_operator_has_no_chats() {
    let client = with_tokens(false);
    let owner = client.with_token(token(&json!({})));
    let body = json!({"chat_id": "c1", "workflow_name": "Generator", "visibility": "private"});
    assert_eq!(owner.post("/api/chats/acme_corp", body).await.status, 201);
    let operator = |apps| token(&json!({"sub": "olga", "role": "operator", "apps": apps}));
    let elsewhere = client.with_token(operator(json!(null))).get("/api/chats/acme_corp").await;
    assert_eq!(elsewhere.problem(), (403, "forbidden-app".to_owned()));
    let inside = client.with_token(operator(json!(["acme_corp"])));
    let refused = inside.get("/api/chats/acme_corp/c1").await;
    assert_eq!(refused.problem(), (403, "forbidden-role".to_owned()));
}

#[tokio::test]
async fn public_metrics_need_no_token_and_open_nothing_else() {
    let client = with_tokens(true);
    assert_eq!(client.get("/metrics").await.status, 200);
    assert_eq!(client.get("/api/chats/acme_corp").await.status, 401);
}

#[test]
fn apps_come_as_a_list_or_with_commas() {
    let config = |text: &str| serde_json::from_str::<MetricsConfig>(text);
    let apps = |text| config(text).unwrap().apps.iter().map(AppId::to_string).collect::<Vec<_>>();
    assert_eq!(apps("{}"), [""; 0]);
    assert_eq!(apps(r#"{"apps": ""}"#), [""; 0]);
    assert_eq!(apps(r#"{"apps": ["acme_corp", "globex"]}"#), ["acme_corp", "globex"]);
    assert_eq!(apps(r#"{"apps": "acme_corp, globex"}"#), ["acme_corp", "globex"]);
    for text in [r#"{"apps": ["a b"]}"#, r#"{"apps": 7}"#, r#"{"app": []}"#] {
        assert!(config(text).is_err(), "{text}");
    }
}
