//! The size limits of bodies and of their parts.

use std::task::Poll;

use axum::body::Body;
use futures::stream;
use insta::assert_json_snapshot;
use persistence::StoreError;
use serde_json::{Value, json};
use service::{Config, LimitsConfig};

use crate::harness::{Client, memory};

const CHATS: &str = "/api/chats/acme_corp";

fn refused() -> (u16, String) {
    (422, "invalid-request".to_owned())
}

#[tokio::test]
async fn nesting_is_bounded_and_a_bomb_does_no_harm() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let message = |levels| format!(r#"{{"role": "user", "content": {}}}"#, nested(levels));
    let messages = format!("{path}/messages");
    assert_eq!(client.json("POST", &messages, message(64)).await.status, 201);
    for levels in [65, 127, 200, 100_000] {
        let answer = client.json("POST", &messages, message(levels)).await;
        assert_eq!(answer.problem(), refused(), "{levels}");
    }
}

#[tokio::test]
async fn an_announced_body_beyond_the_limit_is_refused_unread() {
    let client = Client::open();
    let unread = stream::poll_fn(|_| -> Poll<Option<Result<String, StoreError>>> {
        panic!("the body was read")
    });
    let request = client
        .request("POST", CHATS)
        .header("content-type", "application/json")
        .header("content-length", (16 << 20) + 1)
        .body(Body::from_stream(unread))
        .unwrap();
    let answer = client.send(request).await;
    assert_json_snapshot!("body_too_large", answer.snapshot());
}

#[tokio::test]
async fn an_unannounced_body_is_refused_once_it_passes_the_limit() {
    let limits = LimitsConfig { body_bytes: 1_000, ..LimitsConfig::default() };
    let client = Client::over(memory(), Config { limits, ..Config::default() });
    let endless = stream::repeat_with(|| Ok::<_, StoreError>(" ".repeat(100)));
    let request = client
        .request("POST", CHATS)
        .header("content-type", "application/json")
        .body(Body::from_stream(endless))
        .unwrap();
    let answer = client.send(request).await;
    assert_eq!(answer.problem(), (413, "body-too-large".to_owned()));
}

#[tokio::test]
async fn a_message_and_a_batch_have_limits_of_their_own() {
    let client = Client::open();
    let path = format!("{}/messages", client.create_chat("c1").await);
    let large = json!({"role": "user", "content": "x".repeat(4 << 20)});
    let one = client.post(&path, large.clone()).await;
    assert_eq!(one.problem(), (413, "message-too-large".to_owned()));
    assert_eq!(one.culprit(), "/content");
    let batch = client.post(&path, json!({"messages": [large]})).await;
    assert_eq!(batch.culprit(), "/messages/0/content");
    let small = json!({"role": "user", "content": "x"});
    let many = client.post(&path, json!({"messages": vec![small; 1_001]})).await;
    assert_eq!(many.problem(), (413, "batch-too-large".to_owned()));
    let none = client.post(&path, json!({"messages": []})).await;
    assert_eq!((none.problem(), none.culprit().as_str()), (refused(), "/messages"));
    let null = client.post(&path, json!({"messages": null})).await;
    assert_eq!((null.problem(), null.culprit().as_str()), (refused(), "/messages"));
    let metadata = json!({"workflow_name": "w", "metadata": {"x": "y".repeat(20_000)}});
    let metadata = client.post(CHATS, metadata).await;
    assert_eq!(metadata.problem(), (413, "metadata-too-large".to_owned()));
}

#[tokio::test]
async fn event_ids_are_bounded() {
    let client = Client::open();
    let path = format!("{}/messages", client.create_chat("c1").await);
    for event_id in [json!("x".repeat(1 << 20)), json!(""), json!("a\nb"), json!({"$gt": ""})] {
        let message = json!({"event_id": event_id, "role": "user", "content": "x"});
        let answer = client.post(&path, message).await;
        assert_eq!((answer.problem(), answer.culprit().as_str()), (refused(), "/event_id"));
        assert!(answer.text.len() < 2_000, "the refusal does not repeat the input");
    }
}

#[tokio::test]
async fn a_reason_is_bounded() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let body = json!({"reason": "x".repeat(1_001)});
    let answer = client.post(&format!("{path}/pause"), body).await;
    assert_eq!((answer.problem(), answer.culprit().as_str()), (refused(), "/reason"));
    let null = client.post(&format!("{path}/pause"), json!({"reason": null})).await;
    assert_eq!(null.body()["status_reason"], Value::Null);
}

#[tokio::test]
async fn a_long_list_is_refused_while_it_is_parsed() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let body =
        |list: &str, count: usize| format!(r#"{{"{list}":[{}]}}"#, vec!["{}"; count].join(","));
    for (route, list, limit) in [
        ("messages", "messages", 1_000),
        ("initial-messages", "messages", 1_000),
        ("messages?dialect=openai", "messages", 1_000),
        ("messages?dialect=acp", "messages", 50_000),
        ("exchanges", "messages", 1_000),
        ("calls", "calls", 1_000),
        ("turns", "steps", 1_000),
    ] {
        let answer = client.json("POST", &format!("{path}/{route}"), body(list, limit + 1)).await;
        assert_eq!(answer.problem(), (413, "batch-too-large".to_owned()), "{route}");
        assert_eq!(answer.culprit(), format!("/{list}"), "{route}");
        assert!(answer.text.contains(&format!("at most {limit} items")), "{}", answer.text);
    }
    // A list with the same name inside of data is data.
    let context = client.json("PUT", &format!("{path}/context"), body("messages", 1_001)).await;
    assert_eq!(context.status, 200);
    let numbers = format!(r#"{{"a":[{}0]}}"#, "0,".repeat(1 << 20));
    let answer = client.json("PUT", &format!("{path}/context"), numbers).await;
    assert_eq!(answer.problem(), (413, "body-too-large".to_owned()));
    assert!(answer.text_of("detail").contains("too many values"), "{}", answer.text);
}

/// Many small messages take far more memory than their text.
#[tokio::test]
async fn a_thousand_small_messages_of_a_framework_are_stored_at_once() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let message = json!({"type": "ai", "data": {
        "content": "hi", "id": null, "name": null, "example": false, "additional_kwargs": {},
        "tool_calls": [{"name": "look_up", "args": {"city": "Rome"}, "id": "c", "type": "tool_call"}],
        "invalid_tool_calls": [], "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        "response_metadata": {"model_name": "large", "finish_reason": "stop", "token_usage": {
            "completion_tokens": 2, "prompt_tokens": 1, "total_tokens": 3,
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0}}},
    }});
    let body = json!({"messages": vec![message; 1_000]});
    let stored = client.post(&format!("{path}/messages?dialect=langchain"), body).await;
    assert_eq!(stored.status, 201, "{}", stored.text);
    assert_eq!(stored.body()["last_sequence"], 1_000);
}
