use insta::assert_json_snapshot;
use serde_json::{Value, json};

use service::{Config, WalletsConfig};

use crate::harness::{Client, memory};

fn call(id: &str) -> Value {
    json!({
        "call_id": id,
        "agent": "interviewer",
        "requested_provider": "anthropic",
        "requested_model": "claude-sonnet-4",
        "provider_kind": "cloud",
        "prompt_tokens": 12,
        "completion_tokens": 4,
        "cost_usd": "0.001234",
        "duration_ms": 850,
        "called_at": "2025-10-02T10:00:05.000Z",
    })
}

#[tokio::test]
async fn a_call_is_recorded_once_and_listed_with_the_usage_of_all() {
    let client = Client::open();
    let path = format!("{}/calls", client.create_chat("c1").await);
    assert_json_snapshot!("none", client.get(&path).await.snapshot());
    let recorded = client.post(&path, call("call_1")).await;
    assert_json_snapshot!("recorded", recorded.snapshot());
    let again = client.post(&path, call("call_1")).await;
    assert_eq!((again.status, &again.body()["calls"][0]["duplicate"]), (200, &json!(true)));
    let other_form = json!({"calls": [
        {"call_id": "call_2", "cost_micros_usd": 5, "called_at": "2025-10-02T10:00:06Z"},
        call("call_1"),
    ]});
    assert_json_snapshot!("recorded_in_part", client.post(&path, other_form).await.snapshot());
    assert_json_snapshot!("listed", client.get(&path).await.snapshot());
    let first = client.get(&format!("{path}?limit=1")).await.body();
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = client.get(&format!("{path}?limit=1&cursor={cursor}")).await.body();
    assert_eq!(second["data"][0]["call_id"], "call_1");
    assert_eq!(second["next_cursor"], Value::Null);
}

#[tokio::test]
async fn another_body_under_the_same_id_is_a_conflict() {
    let client = Client::open();
    let path = format!("{}/calls", client.create_chat("c1").await);
    client.post(&path, call("call_1")).await;
    let mut other = call("call_1");
    other["prompt_tokens"] = json!(13);
    assert_json_snapshot!("conflict", client.post(&path, other.clone()).await.snapshot());
    let batch = client.post(&path, json!({"calls": [call("call_2"), other]})).await;
    assert_eq!(batch.problem(), (409, "call-conflict".to_owned()));
    assert_eq!(batch.culprit(), "/calls/1/call_id");
    assert_eq!(client.get(&path).await.body()["usage"]["calls"], 1);
}

#[tokio::test]
async fn an_invalid_call_is_refused_by_its_field() {
    let client = Client::open();
    let path = format!("{}/calls", client.create_chat("c1").await);
    for (field, value) in [
        ("cost_usd", json!("0.0000001")),
        ("cost_usd", json!(0.5)),
        ("cost_usd", json!("-1")),
        ("cost_micros_usd", json!(1_000_000_000_001_u64)),
        ("prompt_tokens", json!(-1)),
        ("prompt_tokens", json!(1_000_000_001)),
        ("total_tokens", json!(15)),
        ("agent", json!("")),
        ("provider_kind", json!("a\n")),
        ("called_at", json!("yesterday")),
        ("tokens", json!(1)),
    ] {
        let mut wrong = call("call_1");
        wrong[field] = value;
        let answer = client.post(&path, wrong).await;
        assert_eq!((answer.status, answer.culprit()), (422, format!("/{field}")));
    }
    let mut both = call("call_1");
    both["cost_micros_usd"] = json!(1);
    assert_eq!(client.post(&path, both).await.culprit(), "/cost_usd");
    let none = client.post(&path, json!({"calls": []})).await;
    assert_eq!((none.status, none.culprit()), (422, "/calls".to_owned()));
    let many = client.post(&path, json!({"calls": vec![json!({}); 1_001]})).await;
    assert_eq!(many.problem(), (413, "batch-too-large".to_owned()));
    assert_eq!(client.get(&path).await.body()["usage"]["calls"], 0);
}

#[tokio::test]
async fn calls_of_an_unknown_chat_are_not_found() {
    let client = Client::open();
    client.create_chat("c1").await;
    for path in ["/api/chats/acme_corp/unknown/calls", "/api/chats/other/c1/calls"] {
        let answer = client.post(path, call("call_1")).await;
        assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()));
        assert_eq!(client.get(path).await.problem(), (404, "chat-not-found".to_owned()));
    }
}

fn exchange() -> Value {
    json!({
        "messages": [
            {"event_id": "evt_1", "role": "user", "content": "What is it?"},
            {"event_id": "evt_2", "role": "assistant", "name": "interviewer", "content": "A todo app."},
        ],
        "call": call("call_1"),
    })
}

#[tokio::test]
async fn an_exchange_links_its_messages_to_its_call() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let path = format!("{chat}/exchanges");
    assert_json_snapshot!("exchange", client.post(&path, exchange()).await.snapshot());
    let again = client.post(&path, exchange()).await;
    assert_eq!(again.status, 200);
    let body = again.body();
    let duplicates = [&body["messages"][0], &body["messages"][1], &body["call"]];
    assert!(duplicates.iter().all(|part| part["duplicate"] == true), "{body}");
    let messages = client.get(&format!("{chat}/messages")).await.body()["data"].clone();
    assert_eq!(messages[1]["produced_by_call_id"], "call_1");
    assert!(messages[0].get("produced_by_call_id").is_none());

    let gone = client.delete(&format!("{chat}/calls/call_1")).await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    let messages = client.get(&format!("{chat}/messages")).await.body()["data"].clone();
    assert_eq!(messages[1]["produced_by_call_id"], Value::Null);
    assert_eq!(client.get(&format!("{chat}/calls")).await.body()["usage"]["calls"], 0);
    let again = client.delete(&format!("{chat}/calls/call_1")).await;
    assert_eq!(again.status, 204, "{}", again.text);
}

#[tokio::test]
async fn an_invalid_exchange_is_refused_by_its_field() {
    let client = Client::open();
    let path = format!("{}/exchanges", client.create_chat("c1").await);
    client.post(&path, exchange()).await;
    let changed = |pointer: &str, value: Value| {
        let mut exchange = exchange();
        *exchange.pointer_mut(pointer).unwrap() = value;
        exchange
    };
    let cases = [
        (changed("/call/call_id", Value::Null), 422, "/call/call_id"),
        (changed("/call/cost_usd", json!("much")), 422, "/call/cost_usd"),
        (changed("/call/duration_ms", json!(2_000_000_000)), 422, "/call/duration_ms"),
        (changed("/call/prompt_tokens", json!(13)), 409, "/call/call_id"),
        (changed("/messages/1/content", json!("Another.")), 409, "/messages/1/event_id"),
        (changed("/messages/1/role", Value::Null), 422, "/messages/1/role"),
        (changed("/messages", json!([])), 422, "/messages"),
    ];
    for (exchange, status, pointer) in cases {
        let answer = client.post(&path, exchange).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        assert_eq!(answer.body()["errors"][0]["pointer"], pointer, "{}", answer.text);
    }
    let odd = json!({"role": "user", "content": "x", "produced_by_call_id": 7});
    let answer = client.post("/api/chats/acme_corp/c1/messages", odd).await;
    assert_eq!(answer.body()["errors"][0]["pointer"], "/produced_by_call_id");
}

#[tokio::test]
async fn calls_are_paid_for_until_the_wallet_is_empty() {
    let wallets = WalletsConfig { debit_usage: true };
    let client = Client::over(memory(), Config { wallets, ..Config::default() });
    let ensure = json!({"initial_balance": 20});
    client.post("/api/wallets/acme_corp/alice/ensure", ensure).await;
    let new = json!({"chat_id": "c1", "workflow_name": "Generator", "user_id": "alice"});
    client.post("/api/chats/acme_corp", new).await;
    let path = "/api/chats/acme_corp/c1/calls";
    let paid = client.post(path, call("call_1")).await;
    let payment = paid.body()["payment"].clone();
    assert_eq!((&payment["is_paid"], &payment["balance"]), (&json!(true), &json!(4)));
    assert!(payment["entry_id"].is_string());
    assert_eq!(client.post(path, call("call_1")).await.body()["payment"], Value::Null);
    let unpaid = client.post(path, call("call_2")).await;
    assert_eq!(unpaid.status, 201);
    let expected = json!({"is_paid": false, "amount": 16, "balance": 4, "entry_id": null});
    assert_eq!(unpaid.body()["payment"], expected);
    let chat = client.get("/api/chats/acme_corp/c1").await.body();
    assert_eq!(chat["status"], "paused");
    assert!(chat["status_reason"].as_str().unwrap().starts_with("insufficient tokens"));
}
