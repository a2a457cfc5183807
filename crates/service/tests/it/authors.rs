//! The authors of messages, over HTTP.

use serde_json::{Value, json};

use crate::harness::Client;
use crate::tokens::{client, hs256, token};

/// The same service, called by an orchestrator and by alice, and the path of a chat of it.
async fn callers() -> (Client, Client, String) {
    let client = client(hs256());
    let service = client.with_token(token(&json!({"sub": "orchestrator", "role": "service"})));
    let path = service.create_chat("c1").await;
    (service, client.with_token(token(&json!({}))), path)
}

fn message(author: &Value) -> Value {
    json!({"role": "user", "content": "hello", "author": author})
}

#[tokio::test]
async fn messages_of_people_name_their_author() {
    let (service, alice, path) = callers().await;
    let messages = format!("{path}/messages");
    let bob = json!({"user_id": "bob", "display_name": "Bob"});
    for (caller, author) in [
        (&service, Value::Null),
        (&service, bob),
        (&alice, Value::Null),
        (&alice, json!({"user_id": "alice", "display_name": "Alice"})),
    ] {
        assert_eq!(caller.post(&messages, message(&author)).await.status, 201);
    }
    alice.delete(&format!("{messages}/2")).await;
    let listed = alice.get(&messages).await.body();
    let listed = listed["data"].as_array().unwrap();
    let authors: Vec<_> = listed.iter().map(|message| message["author"].clone()).collect();
    let expected = json!([
        null,
        {"user_id": "bob", "display_name": "Bob"},
        {"user_id": "alice"},
        {"user_id": "alice", "display_name": "Alice"},
    ]);
    assert_eq!(Value::from(authors), expected);
    let call = json!({"call_id": "call_1"});
    let exchange = json!({"messages": [message(&Value::Null)], "call": call});
    let refused = alice.post(&format!("{path}/exchanges"), exchange).await;
    assert_eq!(refused.problem(), (403, "forbidden-permission".to_owned()));
}

#[tokio::test]
async fn edited_and_deleted_messages_name_who_did_it() {
    let (service, alice, path) = callers().await;
    let messages = format!("{path}/messages");
    for _ in 0..3 {
        assert_eq!(alice.post(&messages, message(&Value::Null)).await.status, 201);
    }
    let edit = json!({"content": "changed"});
    for (caller, sequence) in [(&alice, 0), (&service, 1)] {
        let edited = caller.patch(&format!("{messages}/{sequence}"), edit.clone()).await;
        assert_eq!(edited.status, 200, "{}", edited.text);
    }
    alice.delete(&format!("{messages}/2")).await;
    service.delete(&format!("{messages}/1")).await;
    let listed = alice.get(&messages).await.body();
    let named = |sequence: usize| {
        let message = &listed["data"][sequence];
        [message.get("edited_by").cloned(), message.get("deleted_by").cloned()]
    };
    let by_alice = Some(json!("alice"));
    assert_eq!(named(0), [by_alice.clone(), None]);
    // A service is no person.
    assert_eq!(named(1), [None, None]);
    assert_eq!(named(2), [None, by_alice]);
}

#[tokio::test]
async fn an_invalid_author_is_refused() {
    let (service, alice, path) = callers().await;
    let another = json!({"user_id": "bob"});
    for (caller, author, pointer) in [
        (&alice, another.clone(), "/author/user_id"),
        (&service, json!({"user_id": ""}), "/author/user_id"),
        (&service, json!({"user_id": {"$ne": null}}), "/author/user_id"),
        (&service, json!({"user_id": "a\u{0}b"}), "/author/user_id"),
        (
            &service,
            json!({"user_id": "bob", "display_name": "x".repeat(129)}),
            "/author/display_name",
        ),
        (&service, json!({"display_name": "Bob"}), "/author"),
        (&service, json!({"user_id": "bob", "role": "x"}), "/author/role"),
        (&service, json!("bob"), "/author"),
    ] {
        for below in ["messages", "initial-messages"] {
            let refused = caller.post(&format!("{path}/{below}"), message(&author)).await;
            assert_eq!(refused.problem(), (422, "invalid-request".to_owned()), "{author}");
            assert_eq!(refused.culprit(), pointer, "{author}");
        }
    }
    let call = json!({"call_id": "call_1"});
    let exchange = json!({"messages": [message(&another)], "call": call});
    let refused = alice.post(&format!("{path}/exchanges"), exchange).await;
    assert_eq!(refused.culprit(), "/messages/0/author/user_id");
    assert_eq!(service.get(&path).await.body()["last_sequence"], 0);
}
