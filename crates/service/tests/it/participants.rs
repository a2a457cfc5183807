//! Participants over HTTP.

use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::harness::Client;
use crate::tokens::{client, hs256, token};

/// An orchestrator, alice, and the path of the participants of a chat.
async fn callers() -> (Client, Client, String) {
    let client = client(hs256());
    let service = client.with_token(token(&json!({"sub": "orchestrator", "role": "service"})));
    let path = service.create_chat("c1").await;
    (service, client.with_token(token(&json!({}))), format!("{path}/participants"))
}

fn ids(list: &Value) -> Vec<&str> {
    let participants = list["data"].as_array().unwrap().iter();
    participants.map(|participant| participant["user_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn people_join_and_leave_for_themselves() {
    let (service, alice, path) = callers().await;
    let joined = alice.poke(&path).await;
    assert_json_snapshot!("joined", joined.snapshot());
    let named = alice.post(&path, json!({"user_id": "alice", "display_name": "Alice"})).await;
    assert_json_snapshot!("joined_again", named.snapshot());
    let bob = json!({"user_id": "bob"});
    let refused = alice.post(&path, bob.clone()).await;
    assert_json_snapshot!("not_her_own", refused.snapshot());
    assert_eq!(service.post(&path, bob).await.status, 201);
    assert_json_snapshot!("list", alice.get(&path).await.snapshot());
    let refused = alice.delete(&format!("{path}/bob")).await;
    assert_eq!(refused.problem(), (403, "forbidden-permission".to_owned()));
    for _ in 0..2 {
        assert_eq!(alice.delete(&format!("{path}/alice")).await.status, 204);
        assert_eq!(ids(&alice.get(&path).await.body()), ["bob"]);
    }
    assert_eq!(service.delete(&format!("{path}/bob")).await.status, 204);
}

#[tokio::test]
async fn a_service_names_the_participant() {
    let (service, _, path) = callers().await;
    for body in [json!({}), json!({"user_id": null, "display_name": "x"})] {
        let refused = service.post(&path, body).await;
        assert_eq!(refused.problem(), (422, "invalid-request".to_owned()));
        assert_eq!(refused.culprit(), "/user_id");
    }
}

#[tokio::test]
async fn invalid_names_are_refused() {
    let (service, alice, path) = callers().await;
    for (body, pointer) in [
        (json!({"display_name": ""}), "/display_name"),
        (json!({"display_name": "a\nb"}), "/display_name"),
        (json!({"display_name": "x".repeat(129)}), "/display_name"),
        (json!({"display_name": {"$ne": null}}), "/display_name"),
        (json!({"user_id": 1}), "/user_id"),
        (json!({"joined_at": "now"}), "/joined_at"),
    ] {
        let refused = alice.post(&path, body.clone()).await;
        assert_eq!((refused.status, refused.culprit().as_str()), (422, pointer), "{body}");
    }
    let refused = service.delete(&format!("{path}/a%00b")).await;
    assert_eq!((refused.status, refused.culprit().as_str()), (422, "user_id"));
    assert_eq!(ids(&service.get(&path).await.body()), Vec::<&str>::new());
}

#[tokio::test]
async fn participants_are_listed_in_pages() {
    let (service, _, path) = callers().await;
    for n in 0..5 {
        service.post(&path, json!({"user_id": format!("user {n}")})).await;
    }
    let mut listed = Vec::new();
    let mut url = format!("{path}?limit=2");
    loop {
        let page = service.get(&url).await.body();
        listed.extend(ids(&page).into_iter().map(str::to_owned));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        url = format!("{path}?limit=2&cursor={cursor}");
    }
    assert_eq!(listed, ["user 0", "user 1", "user 2", "user 3", "user 4"]);
    let refused = service.get(&format!("{path}?cursor=x")).await;
    assert_eq!((refused.status, refused.culprit().as_str()), (422, "cursor"));
}

#[tokio::test]
async fn participants_above_the_limit_are_refused() {
    let (service, alice, path) = callers().await;
    for n in 0..1_000 {
        assert_eq!(service.post(&path, json!({"user_id": format!("{n}")})).await.status, 201);
    }
    assert_json_snapshot!("too_many", alice.poke(&path).await.snapshot());
}

/// Participation grants no access: a caller that may not see the chat can neither join nor leave it.
#[tokio::test]
async fn a_hidden_chat_cannot_be_joined() {
    let (service, alice, _) = callers().await;
    let chat =
        json!({"chat_id": "c2", "workflow_name": "w", "user_id": "bob", "visibility": "private"});
    assert_eq!(service.post("/api/chats/acme_corp", chat).await.status, 201);
    let path = "/api/chats/acme_corp/c2/participants";
    assert_eq!(service.post(path, json!({"user_id": "carol"})).await.status, 201);
    let stranger = alice.with_token(token(&json!({"apps": ["other_app"]})));
    for caller in [&alice, &stranger] {
        for answer in [
            caller.get(path).await,
            caller.poke(path).await,
            caller.delete(&format!("{path}/alice")).await,
        ] {
            assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()));
        }
    }
    assert_eq!(ids(&service.get(path).await.body()), ["carol"]);
}
