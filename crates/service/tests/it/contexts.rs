use axum::body::Body;
use insta::assert_json_snapshot;
use serde_json::json;

use crate::harness::Client;

#[tokio::test]
async fn a_snapshot_is_empty_until_it_is_stored_and_knows_its_sequence() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let context = format!("{path}/context");
    assert_json_snapshot!("empty", client.get(&context).await.snapshot());
    let message = json!({"role": "user", "content": "x"});
    client.post(&format!("{path}/messages"), message).await;
    let data = json!({"interview_complete": true, "a": {"b": 1, "c": null}});
    let stored = client.put(&context, data).await;
    assert_json_snapshot!("replaced", stored.snapshot());
    assert_eq!(client.get(&context).await.text, stored.text);
}

#[tokio::test]
async fn a_merge_patch_merges_under_either_media_type() {
    let client = Client::open();
    let context = format!("{}/context", client.create_chat("c1").await);
    client.put(&context, json!({"keep": 1, "drop": 2, "in": {"a": 1}})).await;
    let patch = json!({"drop": null, "in": {"b": 2}, "new": [null]});
    let merged = client.patch(&context, patch.clone()).await;
    assert_json_snapshot!("merged", merged.snapshot());
    let request = client
        .request("PATCH", &context)
        .header("content-type", "application/merge-patch+json; charset=utf-8")
        .body(Body::from(patch.to_string()));
    assert_eq!(client.send(request.unwrap()).await.text, merged.text);
    let elsewhere = client
        .request("PUT", &context)
        .header("content-type", "application/merge-patch+json")
        .body(Body::from("{}"));
    assert_eq!(client.send(elsewhere.unwrap()).await.status, 415);
}

#[tokio::test]
async fn a_snapshot_must_be_an_object() {
    let client = Client::open();
    let context = format!("{}/context", client.create_chat("c1").await);
    for body in ["[]", "1", "null", "\"x\""] {
        let put = client.json("PUT", &context, body).await;
        assert_eq!(put.problem(), (422, "invalid-request".to_owned()), "{body}");
        let patch = client.json("PATCH", &context, body).await;
        assert_eq!(patch.problem(), (422, "invalid-request".to_owned()), "{body}");
    }
}

#[tokio::test]
async fn a_snapshot_beyond_its_limit_is_too_large() {
    let client = Client::open();
    let context = format!("{}/context", client.create_chat("c1").await);
    let data = json!({"x": "y".repeat(9 << 20)});
    let answer = client.put(&context, data).await;
    assert_json_snapshot!("too_large", answer.snapshot());
}
