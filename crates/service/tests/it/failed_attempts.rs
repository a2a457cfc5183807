//! Addresses that try many tokens and tickets.

use std::net::SocketAddr;

use serde_json::json;
use service::{AuthConfig, Config, LimitsConfig, ServerConfig};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpSocket;

use crate::harness::memory;
use crate::serve::{Server, read_to_end, start_with};
use crate::socket::{JOIN, Received, Socket};
use crate::tokens::{hs256, seconds, token};

const LIMIT: u32 = 3;
const CHATS: &str = "/api/chats/acme_corp";

async fn server_with(auth: AuthConfig, trusted_proxies: &[&str]) -> Server {
    let limits =
        LimitsConfig { failed_attempts_per_min_per_address: LIMIT, ..LimitsConfig::default() };
    let trusted_proxies = trusted_proxies.iter().map(ToString::to_string).collect();
    let server = ServerConfig { trusted_proxies, ..ServerConfig::default() };
    start_with(memory(), Config { auth, limits, server, ..Config::default() }).await
}

async fn server() -> Server {
    server_with(hs256(), &[]).await
}

/// A client at an address of this machine.
struct Caller<'a> {
    server: &'a Server,
    address: [u8; 4],
    /// The header that a proxy, or the client itself, adds.
    forwarded_for: Option<String>,
}

impl<'a> Caller<'a> {
    fn at(server: &'a Server, last: u8) -> Self {
        Self { server, address: [127, 0, 0, last], forwarded_for: None }
    }

    fn forwarded(self, address: impl Into<String>) -> Self {
        Self { forwarded_for: Some(address.into()), ..self }
    }

    /// Sends a request, and returns the whole response.
    async fn ask(&self, path: &str, token: Option<&str>) -> String {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((self.address, 0))).unwrap();
        let mut stream = socket.connect(self.server.address).await.unwrap();
        let mut request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
        for (name, value) in [
            ("authorization", token.map(|token| format!("Bearer {token}"))),
            ("x-forwarded-for", self.forwarded_for.clone()),
        ] {
            request.extend(value.map(|value| format!("{name}: {value}\r\n")));
        }
        stream.write_all(format!("{request}\r\n").as_bytes()).await.unwrap();
        read_to_end(&mut stream).await
    }

    async fn status(&self, path: &str, token: Option<&str>) -> u16 {
        let response = self.ask(path, token).await;
        response.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Fails as often as it may.
    async fn use_up(&self) {
        for _ in 0..LIMIT {
            assert_eq!(self.status(CHATS, Some("forged")).await, 401);
        }
    }
}

fn good() -> String {
    token(&json!({}))
}

#[tokio::test]
async fn an_address_that_fails_too_often_is_locked_out_and_no_other() {
    let server = server().await;
    let (one, other) = (Caller::at(&server, 2), Caller::at(&server, 3));
    for _ in 0..2 * LIMIT {
        assert_eq!(one.status(CHATS, Some(&good())).await, 200, "success does not count");
        assert_eq!(one.status(CHATS, None).await, 401, "nor does a missing token");
    }
    one.use_up().await;
    let refused = one.ask(CHATS, Some("forged")).await;
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    for expected in
        ["too-many-requests", "retry-after: ", "ratelimit-limit: 3", "ratelimit-remaining: 0"]
    {
        assert!(refused.contains(expected), "{expected}: {refused}");
    }
    // Not even a valid token is looked at, or an attacker would see when they have found one.
    assert_eq!(one.status(CHATS, Some(&good())).await, 429);
    assert_eq!(one.status(CHATS, None).await, 401);
    assert_eq!(one.status("/api/health/live", None).await, 200);
    assert_eq!(other.status(CHATS, Some(&good())).await, 200);
}

#[tokio::test]
async fn a_token_that_has_expired_is_no_attempt_to_guess_one() {
    let server = server().await;
    let caller = Caller::at(&server, 2);
    let expired = token(&json!({"exp": seconds(-60)}));
    for _ in 0..3 * LIMIT {
        assert_eq!(caller.status(CHATS, Some(&expired)).await, 401);
    }
    assert_eq!(caller.status(CHATS, Some(&good())).await, 200);
    // One with another signature is.
    let forged = format!("{}x", &expired[..expired.len() - 1]);
    for _ in 0..LIMIT {
        caller.status(CHATS, Some(&forged)).await;
    }
    assert_eq!(caller.status(CHATS, Some(&good())).await, 429);
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_forwarded_address_counts() {
    let server = server_with(hs256(), &["127.0.0.9"]).await;
    let through = |address: &str| Caller::at(&server, 9).forwarded(address);
    through("198.51.100.1").use_up().await;
    assert_eq!(through("198.51.100.1").status(CHATS, Some(&good())).await, 429);
    // What the client itself has claimed before it came to the proxy does not count.
    assert_eq!(through("198.51.100.7, 198.51.100.1").status(CHATS, Some(&good())).await, 429);
    assert_eq!(through("198.51.100.2").status(CHATS, Some(&good())).await, 200);
    assert_eq!(Caller::at(&server, 9).status(CHATS, Some(&good())).await, 200);
}

#[tokio::test]
async fn an_invented_forwarder_does_not_help() {
    let server = server_with(hs256(), &["127.0.0.9"]).await;
    for number in 0..LIMIT {
        let caller = Caller::at(&server, 2).forwarded(format!("198.51.100.{number}"));
        assert_eq!(caller.status(CHATS, Some("forged")).await, 401);
    }
    let caller = Caller::at(&server, 2).forwarded("198.51.100.99");
    assert_eq!(caller.status(CHATS, Some(&good())).await, 429);
}

#[tokio::test]
async fn tickets_are_attempts_as_well() {
    let server = server().await;
    let caller = Caller::at(&server, 2);
    let events = "/api/chats/acme_corp/c1/events";
    for parameter in ["ticket", "%74icket", "ticket"] {
        let path = format!("{events}?{parameter}=forged");
        assert_eq!(caller.status(&path, None).await, 401);
    }
    assert_eq!(caller.status(&format!("{events}?ticket=forged"), None).await, 429);
    assert_eq!(caller.status(CHATS, Some(&good())).await, 429);
}

#[tokio::test]
async fn first_frames_and_offered_tokens_are_attempts_as_well() {
    let server = server().await;
    let forged = [("sec-websocket-protocol", "reprise.v1, bearer.forged")];
    assert_eq!(Socket::try_open(&server, JOIN, &forged).await.err(), Some(401));
    for (frame_token, code) in
        [("forged", 4401), ("forged", 4401), ("forged", 1008), (&*good(), 1008)]
    {
        let mut socket = Socket::open(&server, JOIN).await;
        socket.send(json!({"type": "authorize", "token": frame_token})).await;
        assert_eq!(socket.receive().await, Received::Closed(code), "{frame_token}");
    }
    assert_eq!(Socket::try_open(&server, JOIN, &forged).await.err(), Some(429));
    assert_eq!(Caller::at(&server, 1).status(CHATS, Some(&good())).await, 429);
}

#[tokio::test]
async fn without_authentication_nothing_is_counted() {
    let server = server_with(AuthConfig::default(), &[]).await;
    let caller = Caller::at(&server, 2);
    for _ in 0..2 * LIMIT {
        assert_eq!(caller.status(CHATS, Some("anything")).await, 200);
        assert_eq!(caller.status(&format!("{CHATS}/c1/events?ticket=x"), None).await, 401);
    }
}
