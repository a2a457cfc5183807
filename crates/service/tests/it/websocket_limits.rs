//! The limits of sockets, and what closes them.

use std::sync::Arc;
use std::time::Duration;

use persistence::memory::MemoryStore;
use serde_json::json;
use service::{AppsConfig, Config, LimitsConfig};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpSocket;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::harness::{Client, memory};
use crate::serve::{Server, listen, start_with};
use crate::socket::{JOIN, Received, Socket};

const RESUME: &str = r#"{"type": "client.resume", "lastClientIndex": 0}"#;

async fn house(limits: LimitsConfig) -> (Client, Server) {
    let apps = AppsConfig { cache_ms: 0, ..AppsConfig::default() };
    let config = Config { limits, apps, ..Config::default() };
    let store = memory();
    let client = Client::over(Arc::<MemoryStore>::clone(&store), config.clone());
    client.create_chat("c1").await;
    (client, start_with(store, config).await)
}

async fn joined(server: &Server) -> Socket {
    let mut socket = Socket::open(server, JOIN).await;
    socket.until("chat.resume_boundary").await;
    socket
}

fn fragment(opcode: Data, is_last: bool) -> Message {
    Message::Frame(Frame::message(vec![b'x'; 4 << 10], OpCode::Data(opcode), is_last))
}

#[tokio::test]
async fn a_message_above_the_limit_closes_the_socket_whole_or_fragmented() {
    let (_, server) = house(LimitsConfig::default()).await;
    let mut socket = joined(&server).await;
    let padded =
        |bytes: usize| Message::text(format!("{RESUME}{}", " ".repeat(bytes - RESUME.len())));
    socket.send_message(padded(64 << 10)).await;
    assert_eq!(socket.next().await["type"], "chat.resume_boundary");
    socket.send_message(padded((64 << 10) + 1)).await;
    assert_eq!(socket.closed().await, 1009);

    let mut socket = joined(&server).await;
    socket.send_message(fragment(Data::Text, false)).await;
    for _ in 0..16 {
        socket.send_message(fragment(Data::Continue, false)).await;
    }
    assert_eq!(socket.closed().await, 1009);

    // It is refused by its announced length, before its content arrives.
    let mut socket = joined(&server).await;
    let head = [0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4];
    socket.stream.get_mut().write_all(&head).await.unwrap();
    assert_eq!(socket.closed().await, 1009);
}

#[tokio::test]
async fn frames_that_are_not_text_close_the_socket() {
    let (_, server) = house(LimitsConfig::default()).await;
    let masked = |opcode: u8, byte: u8| vec![0x80 | opcode, 0x81, 0, 0, 0, 0, byte];
    for (bytes, code) in [
        (masked(2, b'x'), 1003),
        // Invalid UTF-8, an unknown opcode, reserved bits, and a missing mask.
        (masked(1, 0xff), 1007),
        (masked(3, b'x'), 1002),
        (masked(1 | 0x40, b'x'), 1002),
        (vec![0x81, 0x01, b'x'], 1002),
    ] {
        let mut socket = joined(&server).await;
        socket.stream.get_mut().write_all(&bytes).await.unwrap();
        assert_eq!(socket.closed().await, code, "{bytes:x?}");
    }
}

#[tokio::test]
async fn frames_above_the_rate_limit_are_ignored_and_then_close_the_socket() {
    let limits = LimitsConfig { frames_per_sec: 1, frames_burst: 3, ..LimitsConfig::default() };
    let (_, server) = house(limits).await;
    let mut socket = joined(&server).await;
    for _ in 0..4 {
        socket.send_message(Message::text("{}")).await;
    }
    for _ in 0..3 {
        assert_eq!(socket.next().await["error_code"], "SCHEMA_VALIDATION_FAILED");
    }
    let refused = socket.next().await;
    assert_eq!(refused["error_code"], "RATE_LIMIT_EXCEEDED");
    assert!(refused["retry_after_ms"].as_u64().unwrap() <= 1_000);
    for _ in 0..6 {
        // The socket may be closed already.
        let _closed = futures::SinkExt::send(&mut socket.stream, Message::text(RESUME)).await;
    }
    assert_eq!(socket.closed().await, 1008);

    // Pings are frames.
    let mut socket = joined(&server).await;
    for _ in 0..10 {
        let ping = Message::Ping(Vec::new().into());
        let _closed = futures::SinkExt::send(&mut socket.stream, ping).await;
    }
    assert_eq!(socket.closed().await, 1008);
}

#[tokio::test]
async fn a_silent_client_is_disconnected_and_one_that_answers_pings_is_not() {
    let (_, server) = house(LimitsConfig { keep_alive_ms: 300, ..LimitsConfig::default() }).await;
    let mut silent = joined(&server).await;
    let mut other = joined(&server).await;
    // The library answers pings only while the test reads from the socket.
    let answering = tokio::time::timeout(Duration::from_millis(1_500), other.receive()).await;
    assert!(answering.is_err(), "{answering:?}");
    assert_eq!(silent.closed().await, 1008);
    other.send_message(Message::text(RESUME)).await;
    assert_eq!(other.next().await["type"], "chat.resume_boundary");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_disconnected_and_delays_no_other() {
    let limits = LimitsConfig { write_timeout_ms: 300, subscribers: 2, ..LimitsConfig::default() };
    let (client, server) = house(limits).await;
    let small = TcpSocket::new_v4().unwrap();
    small.set_recv_buffer_size(4 << 10).unwrap();
    let stalled = Socket::over(small.connect(server.address).await.unwrap(), JOIN).await;
    let mut quick = joined(&server).await;
    assert_eq!(Socket::try_open(&server, JOIN, &[]).await.err(), Some(503));
    let message = json!({"role": "user", "content": "x".repeat(400_000)});
    for batch in 0..10 {
        let messages = json!({"messages": vec![message.clone(); 8]});
        let answer = client.post("/api/chats/acme_corp/c1/messages", messages).await;
        assert_eq!(answer.status, 201);
        for index in 0..8 {
            assert_eq!(quick.next().await["index"], 8 * batch + index);
        }
    }
    let freed = async {
        while Socket::try_open(&server, &format!("{JOIN}?after=79"), &[]).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), freed).await.expect("the permit is free again");
    drop(stalled);
}

#[tokio::test]
async fn sockets_and_event_streams_share_the_subscriber_limit() {
    let (_, server) = house(LimitsConfig { subscribers: 2, ..LimitsConfig::default() }).await;
    let _socket = joined(&server).await;
    let _stream = listen(&server, "/api/chats/acme_corp/c1").await;
    assert_eq!(Socket::try_open(&server, JOIN, &[]).await.err(), Some(503));
}

#[tokio::test]
async fn a_shutdown_closes_sockets_and_waits_for_them() {
    let (_, server) = house(LimitsConfig::default()).await;
    let mut socket = joined(&server).await;
    server.shutdown.cancel();
    assert_eq!(socket.receive().await, Received::Closed(1001));
    assert_eq!(socket.receive().await, Received::Broken);
    server.stopped().await;
}

#[tokio::test]
async fn a_socket_counts_as_a_connection() {
    let (_, server) = house(LimitsConfig { connections: 1, ..LimitsConfig::default() }).await;
    let socket = joined(&server).await;
    let waiting = tokio::time::timeout(Duration::from_millis(200), joined(&server)).await;
    assert!(waiting.is_err(), "the first is still open");
    drop(socket);
    joined(&server).await;
}

#[tokio::test]
async fn a_disabled_app_ends_sockets_and_streams() {
    let (client, server) = house(LimitsConfig { recheck_ms: 50, ..LimitsConfig::default() }).await;
    let mut socket = joined(&server).await;
    let events = "/api/chats/acme_corp/c1/events";
    let mut reader = crate::events::Reader::open(&client, events, None).await;
    reader.until("caught-up").await;
    assert_eq!(client.put("/api/apps/acme_corp", json!({})).await.status, 200);
    assert_eq!(client.poke("/api/apps/acme_corp/disable").await.status, 200);
    assert_eq!(socket.closed().await, 1008);
    assert_eq!(reader.next().await, None);
}

#[tokio::test]
async fn a_client_that_leaves_frees_its_permit() {
    let (_, server) = house(LimitsConfig { subscribers: 1, ..LimitsConfig::default() }).await;
    for _ in 0..3 {
        let mut socket = joined(&server).await;
        futures::SinkExt::close(&mut socket.stream).await.unwrap();
        while !matches!(socket.receive().await, Received::Broken) {}
    }
}
