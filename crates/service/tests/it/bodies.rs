//! Invalid bodies, and the pointers to what is wrong.

use axum::body::Body;
use insta::assert_json_snapshot;
use serde_json::json;

use crate::harness::Client;

const CHATS: &str = "/api/chats/acme_corp";

fn refused() -> (u16, String) {
    (422, "invalid-request".to_owned())
}

#[tokio::test]
async fn an_operator_where_an_id_belongs_is_refused_by_type() {
    let client = Client::open();
    for field in ["chat_id", "workflow_name", "user_id", "team_id", "title", "cache_seed"] {
        let mut body = json!({"workflow_name": "Generator"});
        body[field] = json!({"$ne": null});
        let answer = client.post(CHATS, body).await;
        assert_eq!(answer.problem(), refused(), "{field}");
        assert_eq!(answer.culprit(), format!("/{field}"));
    }
    let page = client.get(CHATS).await.body();
    assert_eq!(page["data"], json!([]));
}

#[tokio::test]
async fn an_empty_body_is_an_empty_object_where_no_field_is_needed() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    for (route, status) in [
        ("pause", 200),
        ("reopen", 200),
        ("tickets", 201),
        ("complete", 200),
        ("reopen", 200),
        ("fail", 200),
    ] {
        let answer = client.json("POST", &format!("{path}/{route}"), Body::empty()).await;
        assert_eq!(answer.status, status, "{route}: {}", answer.text);
    }
    let answer = client.json("POST", CHATS, Body::empty()).await;
    assert_eq!(answer.problem(), (400, "malformed-json".to_owned()), "a workflow is needed");
}

#[tokio::test]
async fn a_name_that_hides_something_is_refused_with_its_field() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    for odd in ["a\u{202e}b", "\u{200b}a", "a ", "\u{a0}a", "a\u{feff}", "a\u{9b}b", "a\u{2028}b"] {
        for field in ["user_id", "team_id", "workflow_name"] {
            let mut body = json!({"workflow_name": "Generator"});
            body[field] = json!(odd);
            let answer = client.post(CHATS, body).await;
            assert_eq!(answer.problem(), refused(), "{field} {odd:?}");
            assert_eq!(answer.culprit(), format!("/{field}"));
            assert!(answer.text.contains("must be 1 to 128 characters"), "{}", answer.text);
        }
        for field in ["event_id", "role", "name", "block_id"] {
            let mut message = json!({"role": "user", "content": "x"});
            message[field] = json!(odd);
            let answer = client.post(&format!("{path}/messages"), message).await;
            assert_eq!(answer.problem(), refused(), "{field} {odd:?}");
            assert_eq!(answer.culprit(), format!("/{field}"));
        }
        let question = json!({"prompt": "x", "agent": odd});
        let answer = client.post(&format!("{path}/input-requests"), question).await;
        assert_eq!((answer.problem(), answer.culprit().as_str()), (refused(), "/agent"), "{odd:?}");
        let person = json!({"user_id": "u", "display_name": odd});
        let answer = client.post(&format!("{path}/participants"), person).await;
        assert_eq!((answer.problem(), answer.culprit()), (refused(), "/display_name".to_owned()));
    }
    let meta = client.get(&format!("{path}/meta")).await.body();
    assert_eq!(meta["last_sequence"], 0, "nothing was stored");
}

#[tokio::test]
async fn an_update_operator_as_a_message_appends_nothing() {
    let client = Client::open();
    let path = format!("{}/messages", client.create_chat("c1").await);
    let operator = json!({"$each": [{"role": "user", "content": "a"}], "$slice": 0});
    let answer = client.post(&path, operator).await;
    assert_eq!((answer.problem(), answer.culprit().as_str()), (refused(), "/content"));
    assert_eq!(client.get(&path).await.body()["last_sequence"], 0);
}

#[tokio::test]
async fn expressions_and_operators_in_content_are_just_content() {
    let client = Client::open();
    let path = format!("{}/messages", client.create_chat("c1").await);
    for content in [
        json!("$last_sequence"),
        json!("$$ROOT"),
        json!({"$function": {"body": "function(){}", "args": [], "lang": "js"}}),
        json!({"$each": [1, 2]}),
        json!({"$where": "1"}),
    ] {
        let message = json!({"role": "user", "content": content});
        let sequence = client.post(&path, message).await.body()["messages"][0]["sequence"].clone();
        let stored = client.get(&format!("{path}/{sequence}")).await.body();
        assert_eq!(stored["content"], content);
    }
}

#[tokio::test]
async fn ids_outside_their_alphabet_are_refused_everywhere() {
    let client = Client::open();
    for app in ["a%00b", "..%2f..", "a%0d%0ab", "%E2%80%AE", "a.b", "$ne", &"a".repeat(10_000)] {
        let answer = client.get(&format!("/api/chats/{app}")).await;
        assert_eq!(answer.problem(), (400, "invalid-app-id".to_owned()), "{app}");
    }
    for chat in ["a%00b", "..%2fx", "a%0d%0ab", "a%E2%80%AEb", "$where", "%2e%2e"] {
        let answer = client.get(&format!("{CHATS}/{chat}")).await;
        assert_eq!((answer.problem(), answer.culprit().as_str()), (refused(), "chat_id"));
    }
    for chat in ["", "a\0b", "../x", "a\r\nb", "a\u{202e}b", "-x", &"c".repeat(10_000)] {
        let body = json!({"chat_id": chat, "workflow_name": "Generator"});
        let answer = client.post(CHATS, body).await;
        assert_eq!((answer.problem(), answer.culprit().as_str()), (refused(), "/chat_id"));
    }
    let not_utf8 = client.get(&format!("{CHATS}/%ff")).await;
    assert_eq!((not_utf8.problem(), not_utf8.culprit().as_str()), (refused(), "path"));
    let answer = client.get("/api/chats/a.b").await;
    assert_json_snapshot!("invalid_app_id", answer.snapshot());
}

#[tokio::test]
async fn fields_that_are_not_the_callers_to_set_are_refused_by_name() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    for field in ["app_id", "status", "created_at", "last_sequence", "_id", "tenant_id"] {
        let mut body = json!({"workflow_name": "Generator"});
        body[field] = json!(1);
        let answer = client.post(CHATS, body).await;
        assert_eq!((answer.problem(), answer.culprit()), (refused(), format!("/{field}")));
        if field == "tenant_id" {
            // A message keeps fields that mean nothing here.
            continue;
        }
        let mut message = json!({"role": "user", "content": "x"});
        message[field] = json!(1);
        let answer = client.post(&format!("{path}/messages"), message).await;
        assert_eq!((answer.problem(), answer.culprit()), (refused(), format!("/{field}")));
    }
    let batch = json!({"messages": [{"role": "user", "content": "x", "sequence": 7}]});
    let answer = client.post(&format!("{path}/messages"), batch).await;
    assert_json_snapshot!("unknown_field", answer.snapshot());
    let edit = client.patch(&format!("{path}/messages/0"), json!({"role": "system"})).await;
    assert_eq!((edit.problem(), edit.culprit().as_str()), (refused(), "/role"));
    let complete = client.post(&format!("{path}/complete"), json!({"status": 4})).await;
    assert_eq!((complete.problem(), complete.culprit().as_str()), (refused(), "/status"));
}

#[tokio::test]
async fn text_that_is_not_json_is_malformed() {
    let client = Client::open();
    for text in ["", "{", "{'a': 1}", "{\"a\": NaN}", "{\"a\": \"\\u12\"}", "{} {}", "[1e400]"] {
        let answer = client.json("POST", CHATS, text).await;
        assert_eq!(answer.problem(), (400, "malformed-json".to_owned()), "{text}");
    }
    let not_utf8 = client.json("POST", CHATS, vec![b'"', 0xff, b'"']).await;
    assert_eq!(not_utf8.status, 400);
    assert_json_snapshot!("malformed", client.json("POST", CHATS, "{").await.snapshot());
}

#[tokio::test]
async fn half_of_a_character_is_refused_with_a_pointer() {
    let client = Client::open();
    let path = format!("{}/messages", client.create_chat("c1").await);
    let text = r#"{"messages": [{"role": "user", "content": "hello \ud83d"}]}"#;
    let answer = client.json("POST", &path, text).await;
    assert_eq!(answer.problem(), refused());
    assert_eq!(answer.culprit(), "/messages/0/content");
    assert_eq!(client.get(&path).await.body()["last_sequence"], 0);
}

#[tokio::test]
async fn numbers_that_would_be_rounded_are_refused_with_a_pointer() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    for number in
        ["18446744073709551615", "9223372036854775808", "1e-400", "0.123456789012345678901"]
    {
        let text = format!(r#"{{"role": "user", "content": {{"a": [{number}]}}}}"#);
        let answer = client.json("POST", &format!("{path}/messages"), text).await;
        assert_eq!((answer.problem(), answer.culprit().as_str()), (refused(), "/content/a/0"));
        let text = format!(r#"{{"a/b": {number}}}"#);
        let answer = client.json("PUT", &format!("{path}/context"), text).await;
        assert_eq!((answer.problem(), answer.culprit().as_str()), (refused(), "/a~1b"));
    }
}

#[tokio::test]
async fn repeated_keys_are_refused() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let text = r#"{"role": "user", "content": {"a": 1, "\u0061": 2}}"#;
    let answer = client.json("POST", &format!("{path}/messages"), text).await;
    assert_json_snapshot!("repeated_key", answer.snapshot());
}

#[tokio::test]
async fn a_key_with_nul_is_refused_and_pointed_at() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let answer = client.put(&format!("{path}/context"), json!({"a": {"b\0": 1}})).await;
    assert_eq!((answer.problem(), answer.culprit().as_str()), (refused(), "/a/b\0"));
}

#[tokio::test]
async fn a_body_must_have_the_content_type_json() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let body = r#"{"workflow_name": "Generator"}"#;
    for (media_type, status) in [
        ("application/json", 201),
        ("Application/JSON; charset=utf-8", 201),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/json-seq", 415),
        ("", 415),
    ] {
        let request = client.request("POST", CHATS).header("content-type", media_type);
        let answer = client.send(request.body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status, status, "{media_type}");
    }
    let untyped = client.request("POST", CHATS).body(Body::from(body)).unwrap();
    let untyped = client.send(untyped).await;
    assert_json_snapshot!("media_type", untyped.snapshot());
    let form = client
        .request("POST", &format!("{path}/complete"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::empty());
    assert_eq!(client.send(form.unwrap()).await.status, 415);
}

#[tokio::test]
async fn compressed_bodies_are_not_accepted() {
    let client = Client::open();
    let body = r#"{"workflow_name": "Generator"}"#;
    for (encoding, status) in
        [("gzip", 415), ("br", 415), ("gzip, identity", 415), ("identity", 201)]
    {
        let request = client
            .request("POST", CHATS)
            .header("content-type", "application/json")
            .header("content-encoding", encoding)
            .body(Body::from(body));
        assert_eq!(client.send(request.unwrap()).await.status, status, "{encoding}");
    }
}

#[tokio::test]
async fn a_list_is_no_object() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    for (method, path, body, pointer) in [
        ("POST", "/api/chats/acme_corp".to_owned(), r#"["c2", "Generator"]"#, ""),
        ("POST", format!("{path}/pause"), r#"["tired"]"#, ""),
        ("POST", format!("{path}/reopen"), "[]", ""),
        ("POST", format!("{path}/messages"), r#"{"messages": [["e1", "user"]]}"#, "/messages/0"),
        ("POST", format!("{path}/lease"), r#"["l1", "worker", 1000]"#, ""),
        ("PATCH", "/api/apps/acme_corp".to_owned(), r#"{"settings": [null, null]}"#, "/settings"),
    ] {
        let answer = client.json(method, &path, body).await;
        assert_eq!((answer.status, answer.culprit().as_str()), (422, pointer), "{path} {body}");
    }
}
