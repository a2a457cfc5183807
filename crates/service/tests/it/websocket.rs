//! Joining a chat over a WebSocket.

use std::sync::Arc;

use insta::assert_json_snapshot;
use persistence::memory::MemoryStore;
use serde_json::{Value, json};
use service::{Config, LimitsConfig};

use crate::harness::{Client, memory};
use crate::serve::{Server, start};
use crate::socket::{JOIN, Socket, indices};

/// A chat with a user's messages, and a service in open mode.
struct House {
    client: Client,
    server: Server,
    path: String,
}

async fn house(messages: usize) -> House {
    let store = memory();
    let client = Client::over(Arc::<MemoryStore>::clone(&store), Config::default());
    let path = client.create_chat("c1").await;
    say(&client, &path, messages).await;
    House { client, server: start(store, LimitsConfig::default()).await, path }
}

async fn say(client: &Client, path: &str, count: usize) {
    for number in 0..count {
        let message = json!({"role": "assistant", "name": "planner", "content": number});
        let answer = client.post(&format!("{path}/messages"), message).await;
        assert_eq!(answer.status, 201);
    }
}

/// Snapshots frames, without their times.
macro_rules! assert_frames {
    ($name:literal, $frames:expr) => {
        assert_json_snapshot!($name, $frames, {
            "[].timestamp" => insta::dynamic_redaction(|time, _| match time.as_str() {
                Some(text) if text.starts_with("2025-10-02") => time.clone(),
                _ => "[now]".into(),
            }),
        });
    };
}

#[tokio::test]
async fn a_chat_is_replayed_and_then_followed_live() {
    let House { client, server, path } = house(2).await;
    let mut socket = Socket::open(&server, JOIN).await;
    let mut frames = socket.until("chat.resume_boundary").await;
    say(&client, &path, 1).await;
    frames.extend(socket.until("chat.text").await);
    client.patch(&format!("{path}/messages/0"), json!({"content": "changed"})).await;
    frames.extend(socket.until("chat.message_updated").await);
    client.delete(&format!("{path}/messages/1")).await;
    frames.extend(socket.until("chat.message_deleted").await);
    client.put(&format!("{path}/context"), json!({"a": 1})).await;
    frames.extend(socket.until("chat.context").await);
    client.put(&format!("{path}/artifact"), json!({"payload": 1})).await;
    frames.extend(socket.until("chat.artifact").await);
    client.post(&format!("{path}/pause"), json!({"reason": "waits"})).await;
    frames.extend(socket.until("chat.status").await);
    assert_frames!("all", frames);
}

/// Cases: the index that the client names, the messages replayed, and the index in the boundary.
#[tokio::test]
async fn a_client_resumes_from_the_index_it_names() {
    let House { server, .. } = house(3).await;
    let mut socket = Socket::open(&server, JOIN).await;
    socket.until("chat.resume_boundary").await;
    for (said, replayed, held) in
        [(-5, 3, -1), (-1, 3, -1), (0, 2, 0), (2, 0, 2), (3, 0, 2), (99, 0, 2), (i64::MAX, 0, 2)]
    {
        socket
            .send(json!({"type": "client.resume", "chat_id": "c1", "lastClientIndex": said}))
            .await;
        let mut frames = socket.until("chat.resume_boundary").await;
        let boundary = frames.pop().unwrap();
        assert_eq!(indices(&frames), (3 - replayed..3).collect::<Vec<_>>(), "{said}");
        assert!(frames.iter().all(|frame| frame["replay"] == true));
        assert_eq!(boundary["replayed_messages"], replayed, "{said}");
        assert_eq!(boundary["last_message_index"], 2);
        assert_eq!(boundary["resume_mode"], "client");
        let context = json!({"reason": "client_resume", "last_client_index": held});
        assert_eq!(boundary["resume_context"], context);
    }
}

#[tokio::test]
async fn an_ended_chat_is_replayed_only_on_request() {
    let House { client, server, path } = house(3).await;
    assert_eq!(client.poke(&format!("{path}/complete")).await.status, 200);
    let mut socket = Socket::open(&server, JOIN).await;
    let frames = socket.until("chat.resume_boundary").await;
    assert_frames!("ended", frames);
    socket.send(json!({"type": "client.resume", "lastClientIndex": -1})).await;
    assert_eq!(indices(&socket.until("chat.resume_boundary").await), [0, 1, 2]);
}

#[tokio::test]
async fn an_empty_chat_has_a_boundary_and_no_messages() {
    let House { client, server, path } = house(0).await;
    let mut socket = Socket::open(&server, JOIN).await;
    let frames = socket.until("chat.resume_boundary").await;
    assert_frames!("empty", frames);
    say(&client, &path, 1).await;
    let frame = socket.next().await;
    assert_eq!((&frame["index"], &frame["replay"]), (&json!(0), &json!(false)));
}

#[tokio::test]
async fn a_client_with_a_position_is_sent_what_follows() {
    let House { client, server, path } = house(5).await;
    client.patch(&format!("{path}/messages/1"), json!({"content": "new"})).await;
    for (after, expected, edits) in
        [("-1", 0..5, 0), ("2", 3..5, 1), ("2.1", 3..5, 0), ("4", 5..5, 1), ("99.99", 5..5, 0)]
    {
        let mut socket = Socket::open(&server, &format!("{JOIN}?after={after}")).await;
        let mut frames = socket.until("chat.resume_boundary").await;
        let boundary = frames.pop().unwrap();
        assert_eq!(indices(&frames), expected.collect::<Vec<_>>(), "{after}");
        let updated = frames.iter().filter(|frame| frame["type"] == "chat.message_updated");
        assert_eq!(updated.count(), edits, "{after}");
        assert_eq!((&boundary["id"], &boundary["resume_mode"]), (&json!("4.1"), &json!("client")));
        assert_eq!(boundary["resume_context"]["reason"], "on_connect");
    }
}

/// Whatever a client requests again, new messages follow without a gap.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn resuming_a_running_chat_leaves_no_gap() {
    const MESSAGES: usize = 400;
    let House { client, server, path } = house(0).await;
    let writing = tokio::spawn(async move { say(&client, &path, MESSAGES).await });
    let sockets = (0..8).map(|_| async {
        let mut socket = Socket::open(&server, JOIN).await;
        let mut next = 0;
        let mut resumed = false;
        while next < MESSAGES as u64 {
            let frame = socket.next().await;
            match frame["type"].as_str().unwrap() {
                "chat.text" if resumed => {}
                "chat.text" => {
                    assert_eq!(frame["index"], next);
                    next += 1;
                }
                "chat.resume_boundary" if frame["resume_mode"] == "client" => {
                    // Everything was replayed up to here.
                    let replayed = frame["replayed_messages"].as_u64().unwrap();
                    next = frame["message_count"].as_u64().unwrap();
                    let from = frame["ag2_resume"]["start_index"].as_u64().unwrap();
                    assert_eq!(from + replayed, next);
                    resumed = false;
                }
                _ => {}
            }
            if !resumed && fastrand::u8(..) < 8 {
                let index = fastrand::i64(-1..=i64::try_from(next).unwrap());
                socket.send(json!({"type": "client.resume", "lastClientIndex": index})).await;
                resumed = true;
            }
        }
    });
    futures::future::join_all(sockets).await;
    writing.await.unwrap();
}

#[tokio::test]
async fn several_sockets_of_one_user_get_the_same_events() {
    let House { client, server, path } = house(1).await;
    let (mut one, mut other) =
        (Socket::open(&server, JOIN).await, Socket::open(&server, JOIN).await);
    for socket in [&mut one, &mut other] {
        socket.until("chat.resume_boundary").await;
    }
    say(&client, &path, 1).await;
    let (one, other): (Value, Value) = (one.next().await, other.next().await);
    assert_eq!(one, other);
}

#[tokio::test]
async fn a_request_without_an_upgrade_is_refused() {
    let House { client, .. } = house(1).await;
    let answer = client.get(JOIN).await;
    assert_eq!(answer.problem(), (426, "upgrade-required".to_owned()));
    let answer = client.get(&format!("{JOIN}?after=x")).await;
    assert_eq!((answer.problem().0, answer.culprit()), (422, "after".to_owned()));
}

#[tokio::test]
async fn a_missing_chat_or_another_workflow_is_not_found() {
    let House { client, .. } = house(1).await;
    let unknown = client.get("/ws/Generator/acme_corp/c2/alice").await;
    assert_eq!(unknown.problem(), (404, "chat-not-found".to_owned()));
    for path in ["/ws/Other/acme_corp/c1/alice", "/ws/Generator/globex/c1/alice"] {
        let answer = client.get(path).await;
        assert_eq!(answer.text, unknown.text.replace("c2", "c1"), "{path}");
    }
    let strange = [
        ("/ws/Generator/acme_corp/..%2fc1/alice", 422, "chat_id"),
        ("/ws/Generator/acme_corp/c1%00/alice", 422, "chat_id"),
        ("/ws/Generator/..%2f..%2facme_corp/c1/alice", 400, "none"),
        ("/ws/Gene%0arator/acme_corp/c1/alice", 422, "workflow_name"),
        ("/ws/Generator/acme_corp/c1/al%1bice", 422, "user_id"),
    ];
    for (path, status, culprit) in strange {
        let answer = client.get(path).await;
        assert_eq!((answer.problem().0, answer.culprit().as_str()), (status, culprit), "{path}");
    }
}
