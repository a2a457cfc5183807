//! What the caller is told when the store, or the service itself, fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use insta::assert_json_snapshot;
use serde_json::json;
use service::{Config, Limits};

use crate::faulty::{Fault, Faulty};
use crate::harness::{Client, memory};

fn client(fault: Fault) -> Client {
    Client::over(Arc::new(Faulty::new(fault)), Config::default())
}

fn hurried(fault: Fault) -> Client {
    let limits = Limits { request_timeout_ms: 20, ..Limits::default() };
    let config = Config { limits, ..Config::default() };
    Client::over(Arc::new(Faulty::new(fault)), config)
}

const CHAT: &str = "/api/chats/acme_corp/c1";

#[tokio::test]
async fn every_route_says_that_the_store_is_away() {
    let client = client(Fault::Unavailable);
    let mut answers = Vec::new();
    for below in ["", "/meta", "/messages", "/messages/0", "/history", "/context", "/artifact"] {
        answers.push(client.get(&format!("{CHAT}{below}")).await);
    }
    for below in ["/complete", "/pause", "/fail", "/reopen"] {
        answers.push(client.poke(&format!("{CHAT}{below}")).await);
    }
    let message = json!({"role": "user", "content": "x"});
    for below in ["", "/acme_corp", "/acme_corp/w", "/acme_corp/w/series", "/acme_corp/w/chats"] {
        answers.push(client.get(&format!("/api/stats{below}")).await);
    }
    answers.push(client.get("/api/chats/acme_corp").await);
    let chat = json!({"workflow_name": "w"});
    answers.push(client.post("/api/chats/acme_corp", chat).await);
    let exchange = json!({"messages": [message], "call": {"call_id": "call_1"}});
    answers.push(client.post(&format!("{CHAT}/exchanges"), exchange).await);
    answers.push(client.delete(&format!("{CHAT}/calls/call_1")).await);
    answers.push(client.post(&format!("{CHAT}/messages"), message.clone()).await);
    answers.push(client.post(&format!("{CHAT}/initial-messages"), message).await);
    answers.push(client.patch(&format!("{CHAT}/messages/0"), json!({"content": 1})).await);
    answers.push(client.delete(&format!("{CHAT}/messages/0")).await);
    answers.push(client.put(&format!("{CHAT}/context"), json!({})).await);
    answers.push(client.patch(&format!("{CHAT}/context"), json!({})).await);
    answers.push(client.put(&format!("{CHAT}/artifact"), json!({})).await);
    answers.push(client.delete(&format!("{CHAT}/artifact")).await);
    for answer in answers {
        assert_eq!(answer.problem(), (503, "store-unavailable".to_owned()));
        assert_eq!(answer.header("retry-after"), "2", "rounded up from 1.5 s");
    }
}

#[tokio::test]
async fn failures_of_the_store_are_told_without_its_words() {
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
async fn a_panic_is_answered_and_the_next_request_too() {
    let client = client(Fault::Panic);
    for _ in 0..2 {
        let answer = client.get(CHAT).await;
        assert_json_snapshot!("panic", answer.snapshot());
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
}

#[tokio::test]
async fn a_read_past_the_deadline_is_told_to_come_back() {
    let answer = hurried(Fault::Hang).get(CHAT).await;
    assert_json_snapshot!("read_deadline", answer.snapshot());
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn a_write_past_the_deadline_is_of_unknown_outcome() {
    let answer = hurried(Fault::Hang).poke(&format!("{CHAT}/complete")).await;
    assert_eq!(answer.problem(), (504, "outcome-unknown".to_owned()));
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn a_body_that_never_ends_is_cut_off_by_the_deadline() {
    let stalled = futures::stream::pending::<Result<String, std::io::Error>>();
    let client = hurried(Fault::Hang);
    let request = client
        .request("POST", "/api/chats/acme_corp")
        .header("content-type", "application/json")
        .body(axum::body::Body::from_stream(stalled));
    assert_eq!(client.send(request.unwrap()).await.status, 504);
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
