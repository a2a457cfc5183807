//! The frames that clients send over a WebSocket.

use std::sync::Arc;

use insta::assert_json_snapshot;
use persistence::memory::MemoryStore;
use serde_json::{Value, json};
use service::{Config, LimitsConfig};
use tokio_tungstenite::tungstenite::Message;

use crate::faulty::{Fault, faulty_once_joined};
use crate::harness::{Client, memory};
use crate::serve::{Server, start};
use crate::socket::{JOIN, Socket};

const MESSAGES: &str = "/api/chats/acme_corp/c1/messages";

async fn house() -> (Client, Server) {
    let store = memory();
    let client = Client::over(Arc::<MemoryStore>::clone(&store), Config::default());
    client.create_chat("c1").await;
    (client, start(store, LimitsConfig::default()).await)
}

async fn joined(server: &Server) -> Socket {
    let mut socket = Socket::open(server, JOIN).await;
    socket.until("chat.resume_boundary").await;
    socket
}

/// Sends a frame, and returns the reply, without events in between.
async fn ask(socket: &mut Socket, frame: Value) -> Value {
    socket.send(frame).await;
    loop {
        let frame = socket.next().await;
        if frame["type"] == "chat.input_ack" || frame["type"] == "chat.error" {
            return frame;
        }
    }
}

#[tokio::test]
async fn an_input_is_stored_once_and_sent_to_all_subscribers() {
    let (client, server) = house().await;
    let (mut alice, mut other) = (joined(&server).await, joined(&server).await);
    let input =
        json!({"type": "user.input.submit", "chat_id": "c1", "text": "hello", "event_id": "evt_x"});
    let first = ask(&mut alice, input.clone()).await;
    let again = ask(&mut other, input).await;
    assert_json_snapshot!("acks", [first, again]);
    let minted = ask(&mut alice, json!({"type": "user.input.submit", "text": " two\n"})).await;
    assert_eq!((&minted["sequence"], &minted["duplicate"]), (&json!(1), &json!(false)));
    let stored = client.get(MESSAGES).await.body();
    assert_eq!(stored["last_sequence"], 2);
    let [first, second] = [&stored["data"][0], &stored["data"][1]];
    assert_eq!((&first["role"], &first["name"]), (&json!("user"), &json!("alice")));
    assert_eq!((&first["content"], &second["content"]), (&json!("hello"), &json!(" two\n")));
    // Subscribers are sent both, including their own.
    let mut late = Socket::open(&server, JOIN).await;
    let frames = late.until("chat.resume_boundary").await;
    assert_eq!((&frames[1]["agent"], &frames[2]["content"]), (&json!("alice"), &json!(" two\n")));
}

/// Every refused frame gets a reply, and the socket stays open.
#[tokio::test]
async fn an_invalid_frame_gets_an_error_and_changes_nothing() {
    let (client, server) = house().await;
    let mut socket = joined(&server).await;
    let submit = |fields: Value| {
        let mut frame = json!({"type": "user.input.submit", "text": "x"});
        frame.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        frame
    };
    let mut answers = Vec::new();
    for frame in [
        submit(json!({"text": ""})),
        submit(json!({"text": " \n\t"})),
        submit(json!({"text": 5})),
        submit(json!({"text": {"$ne": null}})),
        submit(json!({"chat_id": "c2"})),
        submit(json!({"event_id": "a\u{0}"})),
        submit(json!({"sequence": 7})),
        submit(json!({"request_id": "req_1", "event_id": "evt_x"})),
        json!({"type": "user.input.submit"}),
        json!({"type": "client.resume"}),
        json!({"type": "client.resume", "lastClientIndex": "1"}),
        json!({"type": "client.resume", "lastClientIndex": 1.5}),
        json!({"type": "client.resume", "lastClientIndex": u64::MAX}),
        json!({"type": "client.resume", "lastClientIndex": 0, "chat_id": "c2"}),
        json!({"type": "chat.text", "content": "forged"}),
        json!({"type": "authorize", "token": "x"}),
        json!({"type": "ui_tool_response"}),
        json!({"type": 7}),
        json!({"text": "x"}),
        json!([1]),
        json!(null),
    ] {
        let answer = ask(&mut socket, frame.clone()).await;
        let place = &answer["errors"][0]["pointer"];
        answers.push(json!([frame, answer["error_code"], place, answer["message"]]));
    }
    for text in ["", "x", "{", "{\"type\":\"client.resume\",\"lastClientIndex\":1e400}"] {
        socket.send_message(Message::text(text)).await;
        let answer = socket.next().await;
        assert_eq!(answer["type"], "chat.error", "{text}");
        assert_eq!(answer["error_code"], "SCHEMA_VALIDATION_FAILED", "{text}");
    }
    assert_json_snapshot!("errors", answers);
    assert_eq!(client.get(MESSAGES).await.body()["last_sequence"], 0);
    assert_eq!(ask(&mut socket, submit(json!({}))).await["sequence"], 0);
}

#[tokio::test]
async fn inputs_to_an_ended_chat_are_refused() {
    let (client, server) = house().await;
    let mut socket = joined(&server).await;
    let input =
        |text: &str| json!({"type": "user.input.submit", "text": text, "event_id": "evt_x"});
    assert_eq!(ask(&mut socket, input("one")).await["sequence"], 0);
    let conflict = ask(&mut socket, input("two")).await;
    client.poke("/api/chats/acme_corp/c1/complete").await;
    let known = ask(&mut socket, input("one")).await;
    assert_eq!(known["duplicate"], true);
    let ended = ask(&mut socket, json!({"type": "user.input.submit", "text": "three"})).await;
    assert_json_snapshot!("refused", [conflict, ended]);
}

#[tokio::test]
async fn an_unreachable_store_is_an_error_frame_and_the_socket_stays_open() {
    for (fault, problem) in [
        (Fault::Unavailable, "store-unavailable"),
        (Fault::OutcomeUnknown, "outcome-unknown"),
        (Fault::Overloaded, "overloaded"),
    ] {
        let store = faulty_once_joined(fault);
        Client::over(Arc::<MemoryStore>::clone(&store), Config::default()).create_chat("c1").await;
        let server = start(store, LimitsConfig::default()).await;
        let mut socket = joined(&server).await;
        let input = json!({"type": "user.input.submit", "text": "x", "event_id": "evt_x"});
        let beyond = json!({"type": "client.resume", "lastClientIndex": 99});
        for _ in 0..2 {
            let answer = ask(&mut socket, input.clone()).await;
            assert_eq!(answer["error_code"], "PERSISTENCE_ERROR");
            assert_eq!(answer["problem"], problem);
            assert_eq!(answer["event_id"], "evt_x");
            assert!(answer["retry_after_ms"].is_u64());
            // The end of the chat cannot be confirmed.
            let answer = ask(&mut socket, beyond.clone()).await;
            assert_eq!(answer["error_code"], "RESUME_FAILED");
            assert_eq!(answer["problem"], problem);
        }
    }
}

#[tokio::test]
async fn an_input_answers_the_pending_question() {
    let (client, server) = house().await;
    let (mut alice, mut other) = (joined(&server).await, joined(&server).await);
    let questions = "/api/chats/acme_corp/c1/input-requests";
    for (request, kind) in [("q1", "confirm"), ("q2", "text")] {
        let question = json!({"request_id": request, "prompt": "Sure?", "kind": kind});
        assert_eq!(client.post(questions, question).await.status, 201);
    }
    let asked = other.until("chat.input_request").await;
    assert_eq!(asked.last().unwrap()["request_id"], "q1");
    let submit = |changes: Value| {
        let mut frame = json!({"type": "user.input.submit", "text": "true"});
        frame.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        frame
    };
    let unnamed = ask(&mut alice, submit(json!({}))).await;
    assert_eq!(unnamed["errors"][0]["pointer"], "/request_id", "{unnamed}");
    let unknown = ask(&mut alice, submit(json!({"request_id": "q3"}))).await;
    assert_eq!(unknown["error_code"], "INPUT_REQUEST_NOT_FOUND");
    let odd = ask(&mut alice, submit(json!({"request_id": "q1", "text": "perhaps"}))).await;
    assert_eq!(
        (&odd["error_code"], &odd["errors"][0]["pointer"]),
        (&json!("SCHEMA_VALIDATION_FAILED"), &json!("/text"))
    );
    let answered = ask(&mut alice, submit(json!({"request_id": "q1"}))).await;
    assert_eq!(answered["request_id"], "q1", "{answered}");
    let again = json!({"type": "user.input.response", "request_id": "q2", "value": "why not"});
    let late = ask(&mut other, submit(json!({"request_id": "q1", "text": "false"}))).await;
    assert_eq!(late["input_request"]["answer"]["content"], true, "{late}");
    assert_eq!(
        (&late["error_code"], &late["problem"]),
        (&json!("USER_MESSAGE_FAILED"), &json!("input-closed"))
    );
    // A later client is sent the remaining question, and answers it with the alternative frame type.
    let mut third = Socket::open(&server, JOIN).await;
    let boundary = third.until("chat.resume_boundary").await;
    assert_eq!(boundary.last().unwrap()["pending_inputs"], json!(["q2"]));
    assert_eq!(third.next().await["request_id"], "q2");
    let answered = ask(&mut third, again).await;
    assert_eq!(answered["request_id"], "q2", "{answered}");
    assert_eq!(late_told(&server).await, ["chat.text", "chat.text"]);
    let closed = client.get(&format!("{questions}/q1")).await.body();
    assert_eq!(
        (&closed["answer"]["content"], &closed["answer"]["name"]),
        (&json!(true), &json!("alice"))
    );
}

/// Returns the types of the frames between the first and the boundary.
async fn late_told(server: &Server) -> Vec<String> {
    let frames = Socket::open(server, JOIN).await.until("chat.resume_boundary").await;
    let between = &frames[1..frames.len() - 1];
    between.iter().map(|frame| frame["type"].as_str().unwrap().to_owned()).collect()
}
