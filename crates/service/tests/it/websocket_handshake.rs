//! The authentication and authorization of sockets.

use std::sync::Arc;

use axum::body::Body;
use persistence::memory::MemoryStore;
use serde_json::{Value, json};
use service::{AuthConfig, Config, LimitsConfig};
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{Client, memory};
use crate::serve::{Server, start_with};
use crate::socket::{JOIN, Received, Socket};
use crate::tokens::{hs256, seconds, token};

const SUBPROTOCOL: &str = "sec-websocket-protocol";

/// A service with authentication, and Alice's private chat with one message.
struct House {
    client: Client,
    server: Server,
}

async fn house() -> House {
    let limits = LimitsConfig { header_timeout_ms: 400, ..LimitsConfig::default() };
    let allowed_origins = vec!["https://app.example".to_owned()];
    let auth = AuthConfig { allowed_origins, leeway_sec: 0, ..hs256() };
    let config = Config { auth, limits, ..Config::default() };
    let store = memory();
    let client = Client::over(Arc::<MemoryStore>::clone(&store), config.clone());
    let alice = client.with_token(token(&json!({})));
    let new = json!({"chat_id": "c1", "workflow_name": "Generator", "visibility": "private"});
    assert_eq!(alice.post("/api/chats/acme_corp", new).await.status, 201);
    let message = json!({"role": "user", "content": "hello"});
    let path = "/api/chats/acme_corp/c1/messages";
    assert_eq!(alice.post(path, message).await.status, 201);
    House { client, server: start_with(store, config).await }
}

fn bearer(claims: &Value) -> String {
    format!("Bearer {}", token(claims))
}

/// Tokens that do not open Alice's chat: the claims, the path, the status, the close code.
fn strangers() -> Vec<(Value, &'static str, u16, u16)> {
    let service = json!({"role": "service", "apps": ["globex"]});
    vec![
        (json!({"exp": seconds(-5)}), JOIN, 401, 4401),
        (json!({"nbf": seconds(60)}), JOIN, 401, 4401),
        (json!({"sub": "bob"}), JOIN, 403, 4403),
        (json!({"sub": "bob"}), "/ws/Generator/acme_corp/c1/bob", 404, 4404),
        (json!({}), "/ws/Generator/acme_corp/c1/bob", 403, 4403),
        (json!({}), "/ws/Generator/acme_corp/c2/alice", 404, 4404),
        (json!({}), "/ws/Other/acme_corp/c1/alice", 404, 4404),
        (json!({"apps": ["globex"]}), JOIN, 404, 4404),
        (service, JOIN, 404, 4404),
    ]
}

#[tokio::test]
async fn a_token_is_taken_from_the_header_the_protocols_or_the_first_frame() {
    let House { server, .. } = house().await;
    let good = token(&json!({}));

    let header = [("authorization", &*format!("Bearer {good}"))];
    let mut socket = Socket::try_open(&server, JOIN, &header).await.unwrap();
    assert!(!socket.answer.contains_key(SUBPROTOCOL));
    assert_eq!(socket.next().await["type"], "chat_meta");

    let offered = [(SUBPROTOCOL, &*format!("bearer.{good}, reprise.v1"))];
    let mut socket = Socket::try_open(&server, JOIN, &offered).await.unwrap();
    assert_eq!(socket.answer[SUBPROTOCOL], "reprise.v1");
    assert!(!format!("{:?}", socket.answer).contains(&good));
    assert_eq!(socket.next().await["type"], "chat_meta");

    let mut socket = Socket::open(&server, JOIN).await;
    socket.send_message(Message::Ping(Vec::new().into())).await;
    socket.send(json!({"type": "authorize", "token": good})).await;
    assert_eq!(socket.next().await["type"], "chat_meta");
    assert_eq!(socket.until("chat.resume_boundary").await.len(), 2);
}

#[tokio::test]
async fn a_service_joins_as_any_user() {
    let House { server, .. } = house().await;
    let service = bearer(&json!({"role": "service"}));
    let path = "/ws/Generator/acme_corp/c1/bob";
    let mut socket = Socket::try_open(&server, path, &[("authorization", &service)]).await.unwrap();
    assert_eq!(socket.next().await["user_id"], "bob");
}

#[tokio::test]
async fn a_bad_token_is_refused_before_the_socket_opens() {
    let House { client, server } = house().await;
    let unknown = client
        .with_token(token(&json!({})))
        .get("/ws/Generator/acme_corp/c2/alice")
        .await
        .text_of("detail");
    for (claims, path, status, _) in strangers() {
        let bearer = bearer(&claims);
        let header = [("authorization", &*bearer)];
        let refused = Socket::try_open(&server, path, &header).await.err();
        assert_eq!(refused, Some(status), "{claims} {path}");
        let offered = format!("reprise.v1, bearer.{}", &bearer[7..]);
        let refused = Socket::try_open(&server, path, &[(SUBPROTOCOL, &offered)]).await.err();
        assert_eq!(refused, Some(status), "{claims} {path}");
        let answer = client.with_token(&bearer[7..]).get(path).await;
        assert_eq!(answer.problem().0, status);
        if status == 404 {
            assert_eq!(answer.text_of("detail").replace("c1", "c2"), unknown);
        }
    }
    let good = token(&json!({}));
    let both = [
        ("authorization", &*format!("Bearer {good}")),
        (SUBPROTOCOL, &*format!("reprise.v1, bearer.{good}")),
    ];
    assert_eq!(Socket::try_open(&server, JOIN, &both).await.err(), Some(401));
    let offered = [(SUBPROTOCOL, "reprise.v1, bearer.")];
    assert_eq!(Socket::try_open(&server, JOIN, &offered).await.err(), Some(401));
    let in_query = client.get(&format!("{JOIN}?access_token={good}")).await;
    assert_eq!(in_query.status, 422);
}

#[tokio::test]
async fn a_bad_first_frame_closes_the_socket_before_anything_is_sent() {
    let House { server, .. } = house().await;
    for (claims, path, _, code) in strangers() {
        let mut socket = Socket::open(&server, path).await;
        socket.send(json!({"type": "authorize", "token": token(&claims)})).await;
        assert_eq!(socket.receive().await, Received::Closed(code), "{claims} {path}");
    }
    for (frame, code) in [
        (Message::text("x"), 4401),
        (Message::text(r#"{"type": "client.resume", "lastClientIndex": -1}"#), 4401),
        (Message::text(r#"{"type": "authorize"}"#), 4401),
        (Message::text(r#"{"type": "authorize", "token": ""}"#), 4401),
        (Message::text(r#"{"type": "authorize", "token": 1}"#), 4401),
        (Message::binary(vec![1, 2]), 1003),
    ] {
        let mut socket = Socket::open(&server, JOIN).await;
        socket.send_message(frame.clone()).await;
        assert_eq!(socket.receive().await, Received::Closed(code), "{frame:?}");
    }
    let mut silent = Socket::open(&server, JOIN).await;
    assert_eq!(silent.receive().await, Received::Closed(4401));
}

#[tokio::test]
async fn pages_of_other_origins_open_no_socket() {
    let House { client, server } = house().await;
    let good = bearer(&json!({}));
    let own = format!("http://{}", server.address);
    let service = "http://localhost";
    for (origin, status) in [
        (&*own, 101),
        ("https://app.example", 101),
        (service, 403),
        ("https://evil.example", 403),
        ("https://app.example.evil.example", 403),
        ("http://app.example", 403),
        ("null", 403),
    ] {
        for headers in [
            &[("origin", origin), ("authorization", &*good)][..],
            // The origin is checked before the client has sent a token, too.
            &[("origin", origin)],
        ] {
            let opened = Socket::try_open(&server, JOIN, headers).await;
            assert_eq!(opened.err().unwrap_or(101), status, "{origin}");
        }
    }
    let request = client.request("GET", JOIN).header("origin", "https://evil.example");
    let answer = client.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.problem(), (403, "forbidden-origin".to_owned()));
}

#[tokio::test]
async fn without_tokens_only_pages_of_this_machine_open_sockets() {
    let store = memory();
    Client::over(Arc::<MemoryStore>::clone(&store), Config::default()).create_chat("c1").await;
    let server = start_with(store, Config::default()).await;
    for (origin, status) in
        [("http://localhost:3000", 101), ("https://evil.example", 403), ("null", 403)]
    {
        let opened = Socket::try_open(&server, JOIN, &[("origin", origin)]).await;
        assert_eq!(opened.err().unwrap_or(101), status, "{origin}");
    }
}

#[tokio::test]
async fn a_socket_is_closed_when_its_token_expires() {
    let House { server, .. } = house().await;
    let short = token(&json!({"exp": seconds(3)}));
    let mut by_frame = Socket::open(&server, JOIN).await;
    by_frame.send(json!({"type": "authorize", "token": short})).await;
    let header = [("authorization", &*format!("Bearer {short}"))];
    let mut by_header = Socket::try_open(&server, JOIN, &header).await.unwrap();
    assert_eq!((by_frame.closed().await, by_header.closed().await), (1008, 1008));
}
