//! Who may see and change which chat.

use axum::http::Method;
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::harness::{Answer, Client};
use crate::tokens::{client, hs256, token};

fn service_token() -> String {
    token(&json!({"sub": "orchestrator", "role": "service", "apps": ["*"]}))
}

/// Every endpoint below a chat, with a body it accepts.
fn endpoints() -> Vec<(Method, &'static str, Value)> {
    let message = json!({"role": "user", "content": "x"});
    vec![
        (Method::GET, "", Value::Null),
        (Method::GET, "/meta", Value::Null),
        (Method::GET, "/messages", Value::Null),
        (Method::GET, "/messages?newest=1", Value::Null),
        (Method::GET, "/messages/0", Value::Null),
        (Method::GET, "/history", Value::Null),
        (Method::GET, "/context", Value::Null),
        (Method::GET, "/artifact", Value::Null),
        (Method::GET, "/calls", Value::Null),
        (Method::GET, "/participants", Value::Null),
        (Method::GET, "/presence", Value::Null),
        (Method::POST, "/calls", json!({})),
        (Method::DELETE, "/calls/call_0", Value::Null),
        (Method::POST, "/exchanges", json!({"messages": [message], "call": {"call_id": "call_1"}})),
        (Method::POST, "/messages", message.clone()),
        (Method::POST, "/initial-messages", message),
        (Method::PATCH, "/messages/0", json!({"content": "y"})),
        (Method::DELETE, "/messages/0", Value::Null),
        (Method::PUT, "/context", json!({"a": 1})),
        (Method::GET, "/context/history", Value::Null),
        (Method::PATCH, "/context", json!({"a": 1})),
        (Method::PUT, "/artifact", json!({"payload": 1})),
        (Method::DELETE, "/artifact", Value::Null),
        (Method::POST, "/fork", json!({})),
        (Method::POST, "/complete", json!({})),
        (Method::POST, "/pause", json!({})),
        (Method::POST, "/fail", json!({})),
        (Method::POST, "/reopen", json!({})),
    ]
}

async fn call(client: &Client, method: &Method, path: &str, body: &Value) -> Answer {
    match (method, body) {
        (&Method::GET, _) => client.get(path).await,
        (&Method::DELETE, _) => client.delete(path).await,
        (method, body) => client.json(method.as_str(), path, body.to_string()).await,
    }
}

/// Returns everything the chat holds.
async fn state(service: &Client, path: &str) -> Vec<String> {
    let mut state = Vec::new();
    for below in ["", "/messages", "/context", "/artifact", "/calls", "/participants"] {
        state.push(service.get(&format!("{path}{below}")).await.text);
    }
    state
}

/// The callers, and whether they may see a chat of alice and team blue by visibility:
/// app, team, private.
fn callers() -> Vec<(Value, [bool; 3])> {
    let role = "service";
    vec![
        (json!({"sub": "orchestrator", "role": role}), [true, true, true]),
        (json!({"sub": "alice"}), [true, true, true]),
        (json!({"sub": "alice", "team": "red"}), [true, true, true]),
        (json!({"sub": "bob", "team": "blue"}), [true, true, false]),
        (json!({"sub": "bob", "team": "red"}), [true, false, false]),
        (json!({"sub": "bob"}), [true, false, false]),
        (json!({"sub": "alice", "apps": "*"}), [true, true, true]),
        (json!({"sub": "alice", "apps": ["other_app"]}), [false, false, false]),
        (json!({"sub": "alice", "apps": []}), [false, false, false]),
        (json!({"sub": "alice", "apps": null}), [false, false, false]),
        (json!({"sub": "x", "role": role, "apps": ["other_app"]}), [false, false, false]),
    ]
}

#[tokio::test]
async fn every_endpoint_answers_by_owner_team_visibility_and_app_and_changes_nothing_else() {
    let unauthenticated = client(hs256());
    let service = unauthenticated.with_token(service_token());
    let mut cells = 0;
    for (changes, expected) in callers() {
        let caller = unauthenticated.with_token(token(&changes));
        for (visibility, may_see) in ["app", "team", "private"].into_iter().zip(expected) {
            for (method, below, body) in endpoints() {
                let chat_id = format!("c{cells}");
                let path = chat_of_alice(&service, &chat_id, visibility).await;
                let before = state(&service, &path).await;
                let answer = call(&caller, &method, &format!("{path}{below}"), &body).await;
                let cell = format!("{changes} {visibility} {method} {below}: {}", answer.text);
                assert_eq!(answer.status < 300, may_see, "{cell}");
                if !may_see {
                    let unknown = format!("/api/chats/acme_corp/unknown{below}");
                    let unknown = call(&caller, &method, &unknown, &body).await;
                    let unknown_text = unknown.text.replace("unknown", &chat_id);
                    assert_eq!((answer.status, &answer.text), (404, &unknown_text), "{cell}");
                    assert_eq!(state(&service, &path).await, before, "{cell}");
                }
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 924);
}

async fn chat_of_alice(service: &Client, chat_id: &str, visibility: &str) -> String {
    let chat = json!({
        "chat_id": chat_id,
        "workflow_name": "Generator",
        "user_id": "alice",
        "team_id": "blue",
        "visibility": visibility,
    });
    let created = service.post("/api/chats/acme_corp", chat).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let path = format!("/api/chats/acme_corp/{chat_id}");
    let message = json!({"role": "user", "content": "secret"});
    service.post(&format!("{path}/messages"), message).await;
    service.post(&format!("{path}/calls"), json!({"call_id": "call_0"})).await;
    path
}

#[tokio::test]
async fn another_apps_chat_is_answered_like_an_unknown_one() {
    let unauthenticated = client(hs256());
    let service = unauthenticated.with_token(service_token());
    service.create_chat("c1").await;
    for (method, below, body) in endpoints() {
        let taken = format!("/api/chats/other_app/c1{below}");
        let free = format!("/api/chats/other_app/c2{below}");
        let taken = call(&service, &method, &taken, &body).await;
        let free = call(&service, &method, &free, &body).await;
        assert_eq!(taken.status, 404, "{method} {below}");
        assert_eq!(taken.text, free.text.replace("c2", "c1"), "{method} {below}");
        assert_eq!(taken.headers.len(), free.headers.len());
    }
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
async fn a_list_shows_only_what_the_caller_may_see() {
    let unauthenticated = client(hs256());
    let service = unauthenticated.with_token(service_token());
    for visibility in ["app", "team", "private"] {
        chat_of_alice(&service, visibility, visibility).await;
    }
    for (changes, expected) in callers() {
        let caller = unauthenticated.with_token(token(&changes));
        let answer = caller.get("/api/chats/acme_corp?user_id=alice").await;
        if answer.status == 403 {
            continue;
        }
        let visible = ["app", "team", "private"]
            .map(|id| answer.text.contains(&format!("\"{id}\",\"app_id\"")));
        assert_eq!(visible, expected, "{changes}");
    }
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
