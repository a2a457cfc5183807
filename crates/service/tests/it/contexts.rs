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

#[tokio::test]
async fn every_snapshot_is_listed_newest_first_and_can_be_read() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let context = format!("{path}/context");
    let history = format!("{context}/history");
    assert_eq!(client.get(&history).await.body()["data"], json!([]));
    for n in 1..=5 {
        let message = json!({"role": "user", "content": "x"});
        client.post(&format!("{path}/messages"), message).await;
        client.put(&context, json!({"n": n, "a.b": {"$set": n}})).await;
    }
    let first = client.get(&format!("{history}?limit=2")).await;
    assert_json_snapshot!("history", first.snapshot());
    let second = format!("{history}?limit=100&cursor={}", first.text_of("next_cursor"));
    let second = client.get(&second).await.body();
    let versions = second["data"].as_array().unwrap();
    assert_eq!(versions.iter().map(|version| &version["version"]).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(second["next_cursor"], json!(null));
    assert_json_snapshot!("version", client.get(&format!("{history}/2")).await.snapshot());
    for version in ["0", "6", "9223372036854775807"] {
        let missing = client.get(&format!("{history}/{version}")).await;
        assert_eq!(missing.problem(), (404, "context-version-not-found".to_owned()));
    }
    assert_eq!(client.get(&format!("{history}/x")).await.status, 422);
}

#[tokio::test]
async fn a_diff_is_a_json_patch_in_either_direction() {
    let client = Client::open();
    let context = format!("{}/context", client.create_chat("c1").await);
    client.put(&context, json!({"keep": 1, "change": [1, 2], "a/b": {"~": 1}})).await;
    client.put(&context, json!({"keep": 1, "change": [1, 3], "new": null})).await;
    let diff = |query: &str| format!("{context}/diff?{query}");
    assert_json_snapshot!("diff", client.get(&diff("from=1&to=2")).await.snapshot());
    let back = client.get(&diff("from=2&to=1")).await.body();
    assert_eq!(back["patch"].as_array().unwrap().len(), 3);
    assert_eq!(client.get(&diff("from=1&to=1")).await.body()["patch"], json!([]));
    let missing = client.get(&diff("from=1&to=3")).await;
    assert_eq!(missing.problem(), (404, "context-version-not-found".to_owned()));
    for query in ["from=1", "to=1", "from=0&to=1", "from=1&to=x"] {
        assert_eq!(client.get(&diff(query)).await.status, 422, "{query}");
    }
}

#[tokio::test]
async fn restoring_writes_an_earlier_version_as_a_new_one() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let context = format!("{path}/context");
    client.put(&context, json!({"step": 1})).await;
    client.put(&context, json!({"step": 2})).await;
    client.post(&format!("{path}/messages"), json!({"role": "user", "content": "x"})).await;
    let restored = client.post(&format!("{context}/restore"), json!({"version": 1})).await;
    assert_json_snapshot!("restored", restored.snapshot());
    assert_eq!(client.get(&context).await.text, restored.text);
    let kept = client.get(&format!("{context}/history/3")).await.body();
    assert_eq!((&kept["sequence"], &kept["context_snapshot"]), (&json!(1), &json!({"step": 1})));
    let missing = client.post(&format!("{context}/restore"), json!({"version": 9})).await;
    assert_eq!(missing.problem(), (404, "context-version-not-found".to_owned()));
    assert_eq!(client.get(&format!("{context}/history/4")).await.status, 404);

    let lease = json!({"owner": "one", "ttl_sec": 60});
    client.post(&format!("{path}/lease"), lease).await;
    let stale = client.fenced("99");
    let refused = stale.post(&format!("{context}/restore"), json!({"version": 1})).await;
    assert_eq!(refused.problem(), (409, "fenced".to_owned()));
    assert_eq!(client.get(&format!("{context}/history/4")).await.status, 404);
}

#[tokio::test]
async fn a_write_repeats_nothing_of_the_snapshot_if_its_caller_prefers() {
    let client = Client::open();
    let context = format!("{}/context", client.create_chat("c1").await);
    for (method, path, body) in [
        ("PUT", context.clone(), r#"{"a": 1}"#),
        ("PATCH", context.clone(), r#"{"b": 2}"#),
        ("POST", format!("{context}/restore"), r#"{"version": 1}"#),
    ] {
        let request = client.request(method, &path).header("content-type", "application/json");
        let request = request.header("prefer", "respond-async, return=minimal");
        let answer = client.send(request.body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.body(), json!({"chat_id": "c1", "sequence": 0}), "{method}");
        assert_eq!(answer.header("preference-applied"), "return=minimal");
    }
    assert_eq!(client.get(&context).await.body()["context_snapshot"], json!({"a": 1}));
}

#[tokio::test]
async fn a_diff_beyond_its_limit_is_refused() {
    let client = Client::open();
    let context = format!("{}/context", client.create_chat("c1").await);
    for value in [0, 1] {
        let members: serde_json::Map<_, _> =
            (0..1_000).map(|key: u32| (key.to_string(), json!(value))).collect();
        client.put(&context, json!({"k".repeat(100_000): members})).await;
    }
    let answer = client.get(&format!("{context}/diff?from=1&to=2")).await;
    assert_eq!(answer.problem(), (422, "diff-too-large".to_owned()));
    assert!(answer.text_of("detail").contains("16777216 bytes"), "{}", answer.text);
    let equal = client.get(&format!("{context}/diff?from=1&to=1")).await;
    assert_eq!(equal.body(), json!({"chat_id": "c1", "from": 1, "to": 1, "patch": []}));
}
