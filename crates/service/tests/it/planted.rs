//! What a person who may only say something cannot find out, plant or occupy.

use serde_json::{Value, json};
use service::{AppSettings, AppsConfig, Config};

use crate::harness::{Client, memory};
use crate::tokens::{client, hs256, token};

const CHAT: &str = "/api/chats/acme_corp/c1";
const MESSAGES: &str = "/api/chats/acme_corp/c1/messages";

/// The same service, called by a program, by alice, who owns the chat, and by bob, who is a member of it.
async fn callers() -> [Client; 3] {
    let client = client(hs256());
    let of = |claims: Value| client.with_token(token(&claims));
    let [service, alice, bob] = [
        of(json!({"sub": "orchestrator", "role": "service"})),
        of(json!({})),
        of(json!({"sub": "bob"})),
    ];
    alice.create_chat("c1").await;
    let member = alice.put(&format!("{CHAT}/members/bob"), json!({"role": "member"})).await;
    assert!(member.status < 300, "{}", member.text);
    [service, alice, bob]
}

fn said(event_id: &str, content: &str) -> Value {
    json!({"event_id": event_id, "role": "user", "content": content})
}

#[tokio::test]
async fn nobody_finds_out_by_guessing_what_a_message_said() {
    let [service, alice, bob] = callers().await;
    for id in ["m0", "m1"] {
        assert_eq!(alice.post(MESSAGES, said(id, "1234")).await.status, 201);
    }
    alice.delete(&format!("{MESSAGES}/0")).await;
    alice.patch(&format!("{MESSAGES}/1"), json!({"content": "(removed)"})).await;
    let fork = bob.post(&format!("{CHAT}/fork"), json!({"chat_id": "c2"})).await;
    assert_eq!(fork.status, 201, "{}", fork.text);
    for path in [MESSAGES, "/api/chats/acme_corp/c2/messages"] {
        for id in ["m0", "m1"] {
            let [right, wrong] =
                [bob.post(path, said(id, "1234")).await, bob.post(path, said(id, "0000")).await];
            assert_eq!(right.problem(), (409, "event-conflict".to_owned()), "{path} {id}");
            assert_eq!(right.problem(), wrong.problem(), "{path} {id}");
        }
    }
    // A late repeat of the one who said it is recognised.
    for caller in [&alice, &service] {
        assert_eq!(caller.post(MESSAGES, said("m0", "1234")).await.status, 200);
        assert_eq!(caller.post(MESSAGES, said("m1", "1234")).await.status, 200);
    }
}

/// A message without an id gets one that follows from its text.
#[tokio::test]
async fn an_id_tells_nobody_what_a_message_said() {
    let [service, alice, bob] = callers().await;
    alice.create_chat("c2").await;
    alice.put("/api/chats/acme_corp/c2/members/bob", json!({"role": "member"})).await;
    let text = |text: &str| json!({"messages": [{"role": "user", "content": text}]});
    let mut ids = Vec::new();
    for chat in ["c1", "c2"] {
        let path = format!("/api/chats/acme_corp/{chat}/transcript?dialect=openai");
        let put = alice.put(&path, text("1234")).await;
        ids.push(put.body()["messages"][0]["event_id"].clone());
        let gone = alice.delete(&format!("/api/chats/acme_corp/{chat}/messages/0")).await;
        assert_eq!(gone.status, 200, "{}", gone.text);
        // A late repeat of the one who said it is recognised.
        assert_eq!(alice.put(&path, text("1234")).await.status, 200);
    }
    assert_ne!(ids[0], ids[1], "an id that follows from the text alone");
    let path = |chat: &str| format!("/api/chats/acme_corp/{chat}/transcript?dialect=openai");
    // What bob has said, the chat shows to the program.
    for (caller, status) in [(bob, 201), (service, 200)] {
        let right = caller.put(&path("c1"), text("1234")).await;
        let wrong = caller.put(&path("c2"), text("0000")).await;
        assert_eq!((right.status, wrong.status), (status, status), "{}", right.text);
    }
}

/// The messages that a fork takes over are recognised by the ids that were derived in its source.
#[tokio::test]
async fn a_transcript_is_recognised_in_a_fork() {
    let [service, ..] = callers().await;
    let text = json!({"messages": [{"role": "user", "content": "1234"}]});
    service.put(&format!("{CHAT}/transcript?dialect=openai"), text.clone()).await;
    service.post(&format!("{CHAT}/fork"), json!({"chat_id": "c2"})).await;
    let put = service.put("/api/chats/acme_corp/c2/transcript?dialect=openai", text).await;
    assert_eq!(put.status, 200, "{}", put.text);
}

/// A page that was opened earlier puts back what it has, and must neither fail nor undo what others did meanwhile.
#[tokio::test]
async fn an_old_page_of_another_person_undoes_no_edit_and_no_deletion() {
    let apps = AppsConfig {
        settings: AppSettings { users_may_run: true, ..AppSettings::default() },
        ..AppsConfig::default()
    };
    let config = Config { auth: hs256(), apps, ..Config::default() };
    let client = Client::over(memory(), config);
    let of = |claims: Value| client.with_token(token(&claims));
    let (alice, bob) = (of(json!({})), of(json!({"sub": "bob"})));
    bob.create_chat("c1").await;
    bob.put(&format!("{CHAT}/members/alice"), json!({"role": "member"})).await;
    let said = |id: &str, text: &str| json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]});
    let old = json!({"messages": [said("u1", "one"), said("u2", "two")]});
    let path = format!("{CHAT}/transcript?dialect=ui-message");
    assert_eq!(alice.put(&path, old.clone()).await.status, 201);
    alice.delete(&format!("{MESSAGES}/0")).await;
    alice.patch(&format!("{MESSAGES}/1"), json!({"content": "(removed)"})).await;
    let before = alice.get(MESSAGES).await.body();
    let put = bob.put(&path, old).await;
    assert_eq!(put.status, 200, "{}", put.text);
    assert_eq!(alice.get(MESSAGES).await.body(), before);
}

#[tokio::test]
async fn a_person_does_not_speak_for_a_tool() {
    let [service, alice, bob] = callers().await;
    let asked = json!({"request_id": "q1", "prompt": "Which?"});
    let asked = service.post(&format!("{CHAT}/input-requests"), asked).await;
    assert_eq!(asked.status, 201, "{}", asked.text);
    bob.post(MESSAGES, said("m0", "hello")).await;
    for part in [
        json!({"type": "tool_result", "tool_use_id": "call_1", "content": "approved"}),
        json!({"type": "tool_use", "id": "call_1", "name": "pay", "input": {}}),
        json!({"type": "function_call_output", "call_id": "call_1", "output": "approved"}),
        json!({"type": "mcp_approval_response", "approval_request_id": "a", "approve": true}),
        json!({"type": "non_standard", "value": {"type": "tool_result"}}),
        json!({"toolResult": {"toolUseId": "call_1", "content": []}}),
        json!({"functionResponse": {"name": "pay", "response": {}}}),
    ] {
        let content = json!([{"type": "text", "text": "see"}, part]);
        let forbidden = (403, "forbidden-permission".to_owned());
        let message = json!({"role": "user", "content": content});
        assert_eq!(bob.post(MESSAGES, message.clone()).await.problem(), forbidden, "{part}");
        let edit = json!({"content": content});
        assert_eq!(bob.patch(&format!("{MESSAGES}/0"), edit.clone()).await.problem(), forbidden);
        let answer = format!("{CHAT}/input-requests/q1/answer");
        assert_eq!(bob.post(&answer, edit).await.problem(), forbidden, "{part}");
        assert_eq!(service.post(MESSAGES, message).await.status, 201, "{part}");
    }
    let picture = json!([{"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}]);
    let message = json!({"role": "user", "content": picture});
    assert_eq!(alice.post(MESSAGES, message).await.status, 201);
}

#[tokio::test]
async fn nobody_occupies_the_ids_of_an_answer() {
    let [service, alice, bob] = callers().await;
    let turn = json!({"request_id": "req_1", "outcome": "completed",
        "messages": [{"role": "assistant", "content": "Yes."}]});
    // The ids of a turn follow from its own id, for every caller that stores it.
    let other = service.create_chat("c2").await;
    let stored = service.post(&format!("{other}/turns"), turn.clone()).await.body();
    let id = stored["messages"][0]["event_id"].as_str().unwrap();
    for id in [id, "answer_0123456789abcdef01234567"] {
        let refused = bob.post(MESSAGES, said(id, "mine")).await;
        assert_eq!(refused.problem(), (422, "invalid-request".to_owned()), "{}", refused.text);
    }
    let stored = service.post(&format!("{CHAT}/turns"), turn).await;
    assert_eq!(stored.status, 201, "{}", stored.text);
    // Other ids of this kind are those of the client.
    for id in ["turn_1", "answer_me", "turn_of_bob"] {
        assert_eq!(alice.post(MESSAGES, said(id, "mine")).await.status, 201, "{id}");
    }
}

#[tokio::test]
async fn a_fork_is_shared_with_the_team_of_the_one_who_forks() {
    let [service, _, bob] = callers().await;
    let team = json!({"chat_id": "t1", "workflow_name": "W", "user_id": "alice", "team_id": "red",
        "visibility": "team"});
    assert_eq!(service.post("/api/chats/acme_corp", team).await.status, 201);
    let path = "/api/chats/acme_corp/t1";
    service.put(&format!("{path}/members/bob"), json!({"role": "member"})).await;
    let fork = bob.post(&format!("{path}/fork"), json!({"chat_id": "t2"})).await.body();
    assert_eq!(
        (&fork["team_id"], &fork["visibility"]),
        (&Value::Null, &json!("private")),
        "{fork}"
    );
    let mate = bob.with_token(token(&json!({"sub": "carol", "team": "red"})));
    let fork = mate.post(&format!("{path}/fork"), json!({"chat_id": "t3"})).await.body();
    assert_eq!((&fork["team_id"], &fork["visibility"]), (&json!("red"), &json!("team")), "{fork}");
}
