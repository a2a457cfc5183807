//! Every `POST` of the API, sent twice: under the same id in the body, and under the same `Idempotency-Key`.

use axum::http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Client};
use crate::rights::{Operation, call, chat_of_alice, operations};

/// Returns the field of an operation's body that names what the operation creates.
fn id_field(id: &str) -> Option<&'static str> {
    Some(match id {
        "create_chat" | "fork_chat" => "chat_id",
        "append_messages"
        | "persist_initial_messages"
        | "answer_input_request"
        | "say"
        | "submit_user_input" => "event_id",
        "record_calls" => "call_id",
        "record_tool_runs" => "run_id",
        "start_stream" => "stream_id",
        "request_input" | "append_turn" => "request_id",
        "credit_wallet" | "debit_wallet" | "consume_tokens" => "entry_id",
        "acquire_lease" => "lease_id",
        _ => return None,
    })
}

/// Starts a service with a chat. Returns every `POST` of it, with a body that has no id.
async fn posts() -> (Client, Vec<Operation>) {
    let client = Client::open();
    client.put("/api/apps/acme_corp", json!({})).await;
    chat_of_alice(&client, &client, "link").await;
    let mut posts = operations(&client).await;
    posts.retain(|operation| operation.method == Method::POST && operation.id != "sign_out");
    for Operation { id, body, .. } in &mut posts {
        if let (Some(field), Some(body)) = (id_field(id), body.as_object_mut()) {
            body.remove(field);
        }
        match id.as_str() {
            "append_exchange" => {
                body["call"] = json!({});
                body["messages"] = json!([{"role": "assistant", "content": "x"}]);
            }
            "join_chat" => *body = json!({"user_id": "bob"}),
            _ => {}
        }
    }
    (client, posts)
}

async fn send(client: &Client, operation: &Operation, key: Option<&str>) -> Answer {
    let keyed = key.map(|key| client.with_key(key));
    call(keyed.as_ref().unwrap_or(client), operation, "alice", "c1").await
}

/// Returns the body, without what says that it was stored before, and whether something says so.
fn told(answer: &Answer) -> (Value, bool) {
    let mut body = answer.body();
    let mut is_duplicate = false;
    strip(&mut body, &mut is_duplicate);
    (body, is_duplicate)
}

fn strip(value: &mut Value, is_duplicate: &mut bool) {
    match value {
        Value::Object(fields) => {
            *is_duplicate |= fields.remove("duplicate") == Some(Value::Bool(true));
            fields.values_mut().for_each(|field| strip(field, is_duplicate));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, is_duplicate)),
        _ => {}
    }
}

fn assert_repeats(operation: &Operation, first: &Answer, again: &Answer) {
    let Operation { id, .. } = operation;
    assert!([200, 201].contains(&first.status), "{id}: {}", first.text);
    match id.as_str() {
        // Each response is a ticket of its own, and each restoring is a version of its own.
        "create_ticket" | "restore_context" => {}
        _ => {
            let ((before, was_duplicate), (after, is_duplicate)) = (told(first), told(again));
            assert_eq!(again.status, 200, "{id}: {}", again.text);
            assert_eq!(is_duplicate, first.status == 201 || was_duplicate, "{id}: {}", again.text);
            assert_eq!(before, after, "{id}");
        }
    }
}

#[tokio::test]
async fn every_post_is_repeated_by_its_id() {
    let count = posts().await.1.len();
    for number in 0..count {
        let (client, mut posts) = posts().await;
        let operation = &mut posts[number];
        // Its id is the key alone: the body is the content.
        if operation.id == "append_document" {
            continue;
        }
        if let Some(field) = id_field(&operation.id) {
            operation.body[field] = json!("id-1");
        } else if operation.id == "append_exchange" {
            operation.body["call"]["call_id"] = json!("id-1");
            operation.body["messages"][0]["event_id"] = json!("id-1");
        }
        let first = send(&client, operation, None).await;
        assert_repeats(operation, &first, &send(&client, operation, None).await);
    }
}

#[tokio::test]
async fn every_post_is_repeated_by_its_key() {
    let count = posts().await.1.len();
    for number in 0..count {
        let (client, posts) = posts().await;
        let operation = &posts[number];
        let first = send(&client, operation, Some("key-1")).await;
        assert_repeats(operation, &first, &send(&client, operation, Some("key-1")).await);
        // The quotation marks of a structured field are not part of the key.
        assert_repeats(operation, &first, &send(&client, operation, Some("\"key-1\"")).await);
    }
}

#[tokio::test]
async fn a_key_is_the_id_that_the_body_would_have() {
    let (client, posts) = posts().await;
    for mut operation in posts {
        let Some(field) = id_field(&operation.id) else { continue };
        operation.body[field] = json!("id-1");
        let both = send(&client, &operation, Some("key-1")).await;
        assert_eq!(both.problem(), (422, "invalid-request".to_owned()), "{}", operation.id);
        assert_eq!(both.culprit(), format!("/{field}"), "{}", operation.id);
    }
    let messages = "/api/chats/acme_corp/c1/messages";
    let said = json!({"role": "user", "content": "x"});
    let appended = |answer: Answer| {
        let ids = answer.body()["messages"].as_array().unwrap().clone();
        ids.iter().map(|it| it["event_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let keyed = client.with_key("k");
    assert_eq!(appended(keyed.post(messages, said.clone()).await), ["k"]);
    let batch = json!({"messages": [said, said, said]});
    assert_eq!(appended(keyed.post(messages, batch).await), ["k/0", "k/1", "k/2"]);
    let calls = keyed.post("/api/chats/acme_corp/c1/calls", json!({"calls": [{}, {}]})).await;
    assert_eq!(calls.body()["calls"][1]["call_id"], "k/1");
}

#[tokio::test]
async fn keys_that_cannot_be_used_are_refused() {
    let (client, posts) = posts().await;
    for key in ["", "\"\"", "  ", "two words\u{7f}", &"x".repeat(200)] {
        let creation = posts.iter().find(|operation| operation.id == "create_chat").unwrap();
        let Ok(_) = axum::http::HeaderValue::from_str(key) else { continue };
        let answer = send(&client, creation, Some(key)).await;
        assert_eq!((answer.status, &*answer.culprit()), (422, "Idempotency-Key"), "{key:?}");
    }
    // The id of a chat has fewer characters than that of a message.
    let answer =
        client.with_key("a b").post("/api/chats/acme_corp", json!({"workflow_name": "G"})).await;
    assert_eq!((answer.status, &*answer.culprit()), (422, "Idempotency-Key"), "{}", answer.text);
}
