//! Who may see and change which chat.

use insta::assert_json_snapshot;
use serde_json::json;

use crate::tokens::{client, hs256, token};

fn service_token() -> String {
    token(&json!({"sub": "orchestrator", "role": "service", "apps": ["*"]}))
}

#[tokio::test]
async fn an_app_the_token_does_not_name_is_forbidden_as_a_whole() {
    let client = client(hs256()).with_token(token(&json!({})));
    let list = client.get("/api/chats/other_app").await;
    assert_json_snapshot!("forbidden_app", list.snapshot());
    let chat = json!({"workflow_name": "Generator"});
    let create = client.post("/api/chats/other_app", chat).await;
    assert_eq!(create.problem(), (403, "forbidden-app".to_owned()));
}

#[tokio::test]
async fn a_user_creates_chats_only_for_themselves() {
    let user = client(hs256()).with_token(token(&json!({"team": "blue"})));
    let chat = json!({"workflow_name": "Generator"});
    let created = user.post("/api/chats/acme_corp", chat).await.body();
    assert_eq!((&created["user_id"], &created["team_id"]), (&json!("alice"), &json!("blue")));
    let own = json!({"workflow_name": "w", "user_id": "alice", "team_id": "blue"});
    assert_eq!(user.post("/api/chats/acme_corp", own).await.status, 201);
    let other = json!({"workflow_name": "w", "user_id": "bob"});
    let refused = user.post("/api/chats/acme_corp", other).await;
    assert_json_snapshot!("forbidden_owner", refused.snapshot());
    let other = json!({"workflow_name": "w", "team_id": "red"});
    let refused = user.post("/api/chats/acme_corp", other).await;
    assert_eq!(refused.culprit(), "/team_id");
}

#[tokio::test]
async fn a_chat_is_not_shared_with_a_team_it_does_not_have() {
    let user = client(hs256()).with_token(token(&json!({})));
    let chat = json!({"workflow_name": "Generator", "visibility": "team"});
    let refused = user.post("/api/chats/acme_corp", chat).await;
    assert_eq!((refused.status, refused.culprit().as_str()), (422, "/visibility"));
}

#[tokio::test]
async fn an_event_id_means_a_message_of_its_own_chat_only() {
    let service = client(hs256()).with_token(service_token());
    let (first, second) = (service.create_chat("c1").await, service.create_chat("c2").await);
    let message = |content| json!({"event_id": "e1", "role": "user", "content": content});
    for (path, content) in [(first, "one"), (second, "two")] {
        let answer = service.post(&format!("{path}/messages"), message(content)).await;
        assert_eq!(
            (answer.status, &answer.body()["messages"][0]["duplicate"]),
            (201, &json!(false))
        );
    }
}
