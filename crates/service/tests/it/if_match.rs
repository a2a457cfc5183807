//! Writes that depend on what their caller has seen: `ETag`, `If-Match` and `If-None-Match`.

use axum::body::Body;
use serde_json::{Value, json};

use crate::harness::{Answer, Client};
use crate::openapi::{document, filled, operations};

async fn conditional(
    client: &Client,
    (method, path): (&str, &str),
    (header, tag): (&str, &str),
    body: Option<&Value>,
) -> Answer {
    let request = client.request(method, path).header(header, tag);
    let request = match body {
        Some(body) => {
            request.header("content-type", "application/json").body(body.to_string().into())
        }
        None => request.body(Body::empty()),
    };
    client.send(request.unwrap()).await
}

#[tokio::test]
async fn a_write_that_names_another_version_is_refused() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    client.put(&format!("{chat}/context"), json!({"n": 0})).await;
    client.put(&format!("{chat}/artifact"), json!({"payload": 0})).await;
    client.post(&format!("{chat}/messages"), json!({"role": "user", "content": 0})).await;
    for (path, method, body) in [
        ("context", "PUT", json!({"n": 1})),
        ("context", "PATCH", json!({"n": 2})),
        ("artifact", "PUT", json!({"payload": 1})),
        ("messages/0", "PATCH", json!({"content": 1})),
    ] {
        let path = format!("{chat}/{path}");
        let target = (method, path.as_str());
        let tag = client.get(&path).await.header("etag").to_owned();
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2, "{path}: {tag}");
        let known = conditional(&client, ("GET", &path), ("if-none-match", &tag), None).await;
        assert_eq!((known.status, &*known.text), (304, ""), "{path}");
        assert_eq!(known.header("etag"), tag);
        let written = conditional(&client, target, ("if-match", &tag), Some(&body)).await;
        assert_eq!(written.status, 200, "{path}: {}", written.text);
        let next = written.header("etag").to_owned();
        assert_eq!(client.get(&path).await.header("etag"), next, "{path}");
        let before = client.get(&path).await.text;
        for stale in [tag.as_str(), "\"0\", \"none\"", &format!("W/{next}")] {
            let refused = conditional(&client, target, ("if-match", stale), Some(&body)).await;
            assert_eq!(refused.problem(), (412, "precondition-failed".to_owned()), "{path}");
        }
        assert_eq!(client.get(&path).await.text, before);
        for wrong in ["3", "\"3", "", "*, \"3\""] {
            let refused = conditional(&client, target, ("if-match", wrong), Some(&body)).await;
            assert_eq!((refused.status, &*refused.culprit()), (422, "If-Match"), "{wrong:?}");
        }
        let any = conditional(&client, target, ("if-match", "*"), Some(&body)).await;
        assert_eq!(any.status, 200, "{path}: {}", any.text);
    }
    for path in ["artifact", "messages/0"] {
        let path = format!("{chat}/{path}");
        let stale = conditional(&client, ("DELETE", &path), ("if-match", "\"0\""), None).await;
        assert_eq!(stale.problem(), (412, "precondition-failed".to_owned()), "{path}");
        let tag = client.get(&path).await.header("etag").to_owned();
        let deleted = conditional(&client, ("DELETE", &path), ("if-match", &tag), None).await;
        assert!([200, 204].contains(&deleted.status), "{path}: {}", deleted.text);
    }
    let path = format!("{chat}/context/restore");
    let stale = ("if-match", "\"1\"");
    let stale = conditional(&client, ("POST", &path), stale, Some(&json!({"version": 1}))).await;
    assert_eq!(stale.problem(), (412, "precondition-failed".to_owned()));
}

#[tokio::test]
async fn if_match_is_honoured_or_refused_and_never_ignored() {
    let client = Client::open();
    let document = document().await;
    let mut honoured = 0;
    for (path, method, operation) in operations(&document) {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let is_honoured = parameters.clone().any(|it| it["name"] == "If-Match");
        honoured += usize::from(is_honoured);
        let (method, path) = (method.to_uppercase(), filled(path, "acme_corp"));
        if path.starts_with("/api/health") {
            continue;
        }
        let target = (method.as_str(), path.as_str());
        let answer = conditional(&client, target, ("if-match", "\"0\""), Some(&json!({}))).await;
        let is_refused = answer.status == 422 && answer.culprit() == "If-Match";
        assert_eq!(is_refused, !is_honoured, "{method} {path}: {}", answer.text);
    }
    assert_eq!(honoured, 20);
}

#[tokio::test]
async fn an_append_may_depend_on_the_number_of_messages() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let messages = format!("{chat}/messages");
    let said =
        |expected: u64| json!({"role": "user", "content": "x", "expected_last_sequence": expected});
    assert_eq!(client.post(&messages, said(0)).await.status, 201);
    let conflict = client.post(&messages, said(0)).await;
    assert_eq!(conflict.problem(), (409, "sequence-conflict".to_owned()));
    assert_eq!(conflict.body()["last_sequence"], 1);
    let item = json!({"role": "user", "content": "x"});
    let batch = json!({"messages": [item, item], "expected_last_sequence": 1});
    assert_eq!(client.post(&messages, batch.clone()).await.status, 201);
    assert_eq!(client.post(&messages, batch).await.problem().0, 409);
    let queried = format!("{messages}?expected_last_sequence=3");
    let both = client.post(&queried, said(2)).await;
    assert_eq!((both.problem().0, both.culprit()), (422, "/expected_last_sequence".to_owned()));
    assert_eq!(client.post(&queried, item.clone()).await.status, 201);
    let transcript = json!({"messages": [{"role": "user", "content": "y"}]});
    let path = format!("{messages}?dialect=openai&expected_last_sequence=3");
    assert_eq!(client.post(&path, transcript).await.problem().0, 409);
    let inside = json!({"messages": [item, said(4)]});
    let refused = client.post(&messages, inside).await;
    assert_eq!(refused.culprit(), "/messages/1/expected_last_sequence");
    let newest = format!("{messages}/3?expected_last_sequence");
    assert_eq!(client.delete(&format!("{newest}=3")).await.problem().0, 409);
    assert_eq!(client.delete(&format!("{newest}=4")).await.status, 200);
}

#[tokio::test]
async fn a_stated_sequence_is_accepted_and_a_difference_is_noted() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let messages = format!("{chat}/messages");
    let said = |sequence: u64| json!({"role": "user", "content": "x", "sequence": sequence});
    let right = client.post(&messages, said(0)).await;
    assert_eq!((right.status, &right.body()["noted"]), (201, &Value::Null), "{}", right.text);
    let batch = client.post(&messages, json!({"messages": [said(1), said(7)]})).await.body();
    let noted = json!([{
        "index": 1, "rule": "other_sequence", "detail": "the message has the sequence 2, not 7",
    }]);
    assert_eq!(batch["noted"], noted);
    let exchange = json!({"messages": [said(9)], "call": {"call_id": "k"}});
    let exchange = client.post(&format!("{chat}/exchanges"), exchange).await.body();
    assert_eq!(exchange["noted"][0]["rule"], "other_sequence", "{exchange}");
    let turn = json!({"request_id": "t", "outcome": "completed", "messages": [said(4)]});
    let refused = client.post(&format!("{chat}/turns"), turn).await;
    assert_eq!(refused.culprit(), "/messages/0/sequence");
}
