//! WebSocket: whatever a client sends, the service answers in frames of JSON, or closes the connection with a reason.

use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::time::timeout;

use super::Target;
use crate::input;
use crate::world::{App, World};

pub(super) const TARGET: Target = Target { name: "sockets", check, seeds };

const MAX_WAIT: Duration = Duration::from_secs(30);

/// The first byte says whether the rest are frames as they are or texts, one a line, and which subprotocol is spoken.
fn check(bytes: &[u8]) {
    let (kind, rest) = input::byte(bytes);
    let frames = if kind & 1 == 0 { rest.to_vec() } else { text_frames(rest) };
    let protocol = if kind & 2 == 0 { "reprise.v1" } else { "mozaiks.v1" };
    World::lend(|app| {
        let chat = app.create_chat();
        let question = json!({"request_id": "q1", "prompt": "Sure?", "kind": "confirm"});
        app.must("POST", &format!("{chat}/input-requests"), &question);
        let answers = app.world().runtime().block_on(exchange(app, protocol, &frames));
        let stored = answers.iter().filter(|it| is_new(it)).count();
        let messages = app.call("GET", &format!("{chat}/messages"), b"");
        messages.check(false);
        assert!(messages.json()["last_sequence"].as_u64().unwrap() >= stored as u64);
    });
}

/// Returns whether an answer says that a message was stored.
fn is_new(answer: &Value) -> bool {
    let fields = answer.get("data").unwrap_or(answer);
    answer["type"] == "chat.input_ack" && fields["duplicate"] == false
}

/// Joins the chat, sends bytes, and returns the texts that come back until the connection is closed.
async fn exchange(app: &App<'_>, protocol: &str, frames: &[u8]) -> Vec<Value> {
    let (mut client, server) = duplex(1 << 20);
    let service = TowerToHyperService::new(app.world().router());
    let serving = http1::Builder::new().serve_connection(TokioIo::new(server), service);
    let serving = tokio::spawn(serving.with_upgrades());
    let head = format!(
        "GET /ws/Generator/{}/c1/alice HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: {protocol}\r\n\r\n",
        app.id
    );
    client.write_all(head.as_bytes()).await.unwrap();
    read_head(&mut client).await;
    // The service may close the connection before it has read everything.
    let _ = client.write_all(frames).await;
    let _ = client.shutdown().await;
    let mut received = Vec::new();
    let read = timeout(MAX_WAIT, client.read_to_end(&mut received)).await;
    read.expect("the service closes the connection").unwrap();
    serving.abort();
    texts(&received)
}

async fn read_head(client: &mut DuplexStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(MAX_WAIT, client.read_u8()).await.expect("it is answered").unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
}

/// Makes each line a frame of a client, with a mask that changes nothing.
fn text_frames(bytes: &[u8]) -> Vec<u8> {
    let frame = |line: &[u8]| {
        let mut frame = vec![0x81];
        match line.len() {
            length @ 0..126 => frame.push(0x80 | u8::try_from(length).unwrap()),
            length => {
                // Masked, with a length of 16 bits.
                frame.push(0xFE);
                frame.extend(u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(&line[..line.len().min(usize::from(u16::MAX))]);
        frame
    };
    bytes.split(|byte| *byte == b'\n').flat_map(frame).collect()
}

/// Returns the texts in frames of the service, and checks the frames (RFC 6455).
fn texts(mut bytes: &[u8]) -> Vec<Value> {
    let mut texts = Vec::new();
    while !bytes.is_empty() {
        let (opcode, length) = (bytes[0], usize::from(bytes[1]));
        let (length, begin) = match length {
            126 => (usize::from(u16::from_be_bytes(bytes[2..4].try_into().unwrap())), 4),
            127 => {
                (usize::try_from(u64::from_be_bytes(bytes[2..10].try_into().unwrap())).unwrap(), 10)
            }
            short @ 0..126 => (short, 2),
            _ => panic!("the service masks a frame"),
        };
        let payload = &bytes[begin..begin + length];
        match opcode {
            0x81 => {
                let text: Value = serde_json::from_slice(payload).expect("a frame is JSON");
                assert!(text["type"].is_string(), "{text}");
                texts.push(text);
            }
            0x88 if payload.is_empty() => {}
            0x88 => {
                let code = u16::from_be_bytes(payload[..2].try_into().unwrap());
                assert!((1000..5000).contains(&code), "{code}");
                assert!(payload.len() <= 125 && str::from_utf8(&payload[2..]).is_ok());
            }
            0x89 | 0x8a => assert!(payload.len() <= 125),
            other => panic!("the service sends a frame {other:#x}"),
        }
        bytes = &bytes[begin + length..];
    }
    texts
}

fn seeds() -> Vec<Vec<u8>> {
    let flat = [
        r#"{"type": "user.input.submit", "chat_id": "c1", "text": "hello", "event_id": "evt_x"}"#,
        r#"{"type": "user.input.submit", "request_id": "q1", "text": "true"}"#,
        r#"{"type": "user.input.response", "request_id": "q1", "value": "yes"}"#,
        r#"{"type": "client.resume", "lastClientIndex": 0}"#,
        r#"{"type": "authorize", "token": "x"}"#,
        r#"{"type": "ui_tool_response", "data": {}}"#,
    ];
    let all = flat.join("\n");
    let texts = flat.iter().copied().chain([all.as_str()]);
    let mut seeds: Vec<Vec<u8>> =
        texts.flat_map(|text| [1_u8, 3].map(|kind| [&[kind], text.as_bytes()].concat())).collect();
    let frames = text_frames(flat[0].as_bytes());
    seeds.push([&[0][..], &frames].concat());
    // A text in two fragments with a ping between them; a binary frame; a close.
    seeds.push(b"\0\x01\x81\0\0\0\0{\x89\x80\0\0\0\0\x80\x81\0\0\0\0}".to_vec());
    seeds.push(b"\0\x82\x81\0\0\0\0x".to_vec());
    seeds.push(b"\x02\x88\x82\0\0\0\0\x03\xe8".to_vec());
    seeds.push(b"\0\x81\xff\0\0\0\0\0\x01\0\0\0\0\0\0".to_vec());
    seeds
}
