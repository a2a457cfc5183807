//! Leases over HTTP.

use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::harness::{Answer, Client};
use crate::tokens::{client, hs256, token};

async fn acquire(client: &Client, chat: &str, owner: &str) -> Answer {
    client.post(&format!("{chat}/lease"), json!({"owner": owner, "lease_id": owner})).await
}

#[tokio::test]
async fn a_lease_is_acquired_shown_renewed_and_released() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    assert_eq!(client.get(&format!("{chat}/lease")).await.body()["lease"], Value::Null);
    let acquired = acquire(&client, &chat, "one").await;
    assert_eq!(acquired.status, 201);
    assert_json_snapshot!("acquired", acquired.snapshot());
    let again = acquire(&client, &chat, "one").await;
    assert_eq!((again.status, again.record()), (200, acquired.record()));
    assert_json_snapshot!("busy", acquire(&client, &chat, "two").await.snapshot());

    let mut holder = acquired.record();
    for secret in ["lease_id", "fencing_token"] {
        holder.as_object_mut().unwrap().remove(secret);
    }
    for path in ["lease", "meta", ""] {
        let shown = client.get(format!("{chat}/{path}").trim_end_matches('/')).await.body();
        assert_eq!(shown["lease"], holder, "{path}");
    }
    let renewed = client.put(&format!("{chat}/lease/1"), json!({"ttl_ms": 60_000})).await;
    assert_eq!((renewed.status, &renewed.body()["fencing_token"]), (200, &json!(1)));
    assert_ne!(renewed.body()["expires_at"], acquired.body()["expires_at"]);
    for _ in 0..2 {
        assert_eq!(client.delete(&format!("{chat}/lease/1")).await.status, 204);
    }
    let gone = client.put(&format!("{chat}/lease/1"), json!({})).await;
    assert_json_snapshot!("gone", gone.snapshot());
    assert_eq!(acquire(&client, &chat, "two").await.body()["fencing_token"], 2);
}

#[tokio::test]
async fn those_who_manage_a_chat_revoke_the_lease_that_they_see() {
    let client = client(hs256());
    let service = client.with_token(token(&json!({"sub": "svc", "role": "service"})));
    let alice = client.with_token(token(&json!({})));
    let mallory = client.with_token(token(&json!({"sub": "mallory"})));
    let chat = alice.create_chat("c1").await;
    let lease = format!("{chat}/lease");
    let first = acquire(&service, &chat, "one").await.body();
    let of =
        |held: &Value| format!("{lease}?acquired_at={}", held["acquired_at"].as_str().unwrap());

    for (query, problem) in [("", "missing"), ("?acquired_at=now", "time")] {
        let refused = alice.delete(&format!("{lease}{query}")).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(refused.text.contains("acquired_at") && refused.text.contains(problem));
    }
    assert_eq!(mallory.delete(&of(&first)).await.status, 403);
    assert_eq!(service.get(&lease).await.body()["lease"]["owner"], "one");

    assert_eq!(alice.delete(&of(&first)).await.status, 204);
    assert_eq!(service.get(&lease).await.body()["lease"], Value::Null);
    let message = json!({"role": "assistant", "content": "late"});
    let late = service.fenced("1").post(&format!("{chat}/messages"), message).await;
    assert_eq!(late.body()["code"], "fenced");

    // A repeat leaves the next worker alone.
    let second = acquire(&service, &chat, "two").await.body();
    assert_eq!(alice.delete(&of(&first)).await.status, 204);
    assert_eq!(service.get(&lease).await.body()["lease"]["owner"], "two");
    assert_eq!(alice.delete(&of(&second)).await.status, 204);
    assert_eq!(service.get(&lease).await.body()["lease"], Value::Null);
}

#[tokio::test]
async fn a_write_under_a_lost_lease_changes_nothing() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    acquire(&client, &chat, "one").await;
    let (mine, late) = (client.fenced("1"), client.fenced("7"));
    let message = json!({"role": "user", "name": "user", "content": "hello", "event_id": "e1"});
    let messages = format!("{chat}/messages");
    assert_eq!(mine.post(&messages, message.clone()).await.status, 201);
    assert_eq!(late.post(&messages, message.clone()).await.status, 200, "a repeat");
    let new = json!({"role": "user", "content": "more"});
    assert_json_snapshot!("fenced", late.post(&messages, new.clone()).await.snapshot());
    assert_eq!(late.put(&format!("{chat}/context"), json!({})).await.status, 409);
    assert_eq!(late.post(&format!("{chat}/complete"), json!({})).await.status, 409);
    assert_eq!(late.get(&messages).await.body()["last_sequence"], 1, "a read asks for no lease");
    assert_eq!(client.post(&messages, new.clone()).await.status, 201, "without a token");
    for wrong in ["0", "-1", "x", "+1", "9223372036854775808", ""] {
        let refused = client.fenced(wrong).post(&messages, new.clone()).await;
        assert_eq!(refused.status, 422, "{wrong}");
        assert_eq!(refused.body()["errors"][0]["parameter"], "Fencing-Token");
    }
}

#[tokio::test]
async fn an_invalid_lease_is_refused() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    for (body, pointer) in [
        (json!({}), ""),
        (json!({"owner": "\n"}), "/owner"),
        (json!({"owner": "x", "ttl_ms": 99}), "/ttl_ms"),
        (json!({"owner": "x", "ttl_ms": 3_600_001}), "/ttl_ms"),
        (json!({"owner": "x", "ttl_ms": -1}), "/ttl_ms"),
        (json!({"owner": "x", "lease_id": ""}), "/lease_id"),
        (json!({"owner": "x", "token": 1}), "/token"),
    ] {
        let refused = client.post(&format!("{chat}/lease"), body.clone()).await;
        assert_eq!(refused.status, 422, "{body}");
        assert_eq!(refused.body()["errors"][0]["pointer"], pointer, "{body}");
    }
    assert_eq!(client.get(&format!("{chat}/lease")).await.body()["lease"], Value::Null);
}

#[tokio::test]
async fn users_acquire_no_leases() {
    let client = client(hs256());
    let service = client.with_token(token(&json!({"sub": "svc", "role": "service"})));
    let chat = service.create_chat("c1").await;
    let person = client.with_token(token(&json!({})));
    assert_eq!(acquire(&person, &chat, "alice").await.body()["code"], "forbidden-permission");
    assert_eq!(acquire(&service, &chat, "svc").await.status, 201);
    let release = person.delete(&format!("{chat}/lease/1")).await;
    assert_eq!(release.status, 403);
}
