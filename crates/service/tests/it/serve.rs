//! Behaviour that only shows on a socket.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use persistence::Store;
use serde_json::json;
use service::{Config, LimitsConfig, ServerConfig, router, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::faulty::{Fault, faulty};
use crate::harness::{Client, memory};

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) shutdown: CancellationToken,
    running: JoinHandle<std::io::Result<()>>,
}

/// Serves on a free port.
pub(crate) async fn start(store: Arc<dyn Store>, limits: LimitsConfig) -> Server {
    start_with(store, Config { limits, ..Config::default() }).await
}

/// Serves on a free port with all the settings given.
pub(crate) async fn start_with(store: Arc<dyn Store>, config: Config) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let app = router(store, config.clone()).unwrap();
    let token = shutdown.clone();
    let running = tokio::spawn(async move { serve(listener, app, &config, token).await });
    Server { address, shutdown, running }
}

impl Server {
    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Waits until the server has stopped, for less than the grace it is configured with.
    pub(crate) async fn stopped(self) {
        let stopped = timeout(Duration::from_secs(10), self.running).await;
        stopped.expect("it stops").unwrap().unwrap();
    }
}

pub(crate) async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(Duration::from_secs(10), stream.read_to_end(&mut bytes)).await;
    read.expect("the server hangs up").unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Reads until a text has been received.
async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(text) {
        let next = timeout(Duration::from_secs(10), stream.read_u8()).await;
        bytes.push(next.expect("the text comes").unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

const BODY: &str = r#"{"workflow_name": "Generator", "chat_id": "c1"}"#;

fn head(length: usize) -> String {
    format!(
        "POST /api/chats/acme_corp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         expect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
    )
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_headers_is_disconnected() {
    let limits = LimitsConfig { header_timeout_ms: 200, ..LimitsConfig::default() };
    let server = start(memory(), limits).await;
    for text in ["", "GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: "] {
        let started = Instant::now();
        let mut stream = server.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        read_to_end(&mut stream).await;
        assert!(started.elapsed() >= Duration::from_millis(150), "{text}");
    }
}

#[tokio::test]
async fn a_connection_may_be_silent_between_two_requests() {
    const REQUEST: &[u8] = b"GET /api/health/live HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let limits = LimitsConfig { header_timeout_ms: 200, ..LimitsConfig::default() };
    let server = start(memory(), limits).await;
    let mut stream = server.connect().await;
    for _ in 0..3 {
        stream.write_all(REQUEST).await.unwrap();
        read_until(&mut stream, "ok\"}").await;
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    // The head of the next request must be complete in time.
    stream.write_all(&REQUEST[..30]).await.unwrap();
    assert_eq!(read_to_end(&mut stream).await, "");

    let limits = LimitsConfig { idle_timeout_ms: 300, ..LimitsConfig::default() };
    let server = start(memory(), limits).await;
    let mut stream = server.connect().await;
    stream.write_all(REQUEST).await.unwrap();
    read_until(&mut stream, "ok\"}").await;
    assert_eq!(read_to_end(&mut stream).await, "");
}

#[tokio::test]
async fn a_shutdown_finishes_what_was_accepted() {
    let server = start(memory(), LimitsConfig::default()).await;
    let mut stream = server.connect().await;
    stream.write_all(head(BODY.len()).as_bytes()).await.unwrap();
    // The handler runs once it asks for the body.
    read_until(&mut stream, "100 Continue").await;
    server.shutdown.cancel();
    stream.write_all(BODY.as_bytes()).await.unwrap();
    let answer = read_to_end(&mut stream).await;
    assert!(answer.contains("201 Created"), "{answer}");
    let address = server.address;
    server.stopped().await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_shutdown_is_announced_before_connections_are_refused() {
    let server = ServerConfig { drain_ms: 1_500, ..ServerConfig::default() };
    let server = start_with(memory(), Config { server, ..Config::default() }).await;
    let mut open = server.connect().await;
    open.write_all(b"GET /api/health/ready HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let ready = read_until(&mut open, "}}").await;
    assert!(ready.contains("200 OK") && !ready.contains("connection: close"), "{ready}");

    server.shutdown.cancel();
    for request in ["GET /api/health/ready", "GET /api/chats/acme_corp", "GET /api/health/live"] {
        let mut stream = server.connect().await;
        let request = format!("{request} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read_to_end(&mut stream).await;
        assert!(answer.contains("connection: close"), "{answer}");
        let is_ready = !request.contains("ready");
        let status = if is_ready { "200 OK" } else { "503 Service Unavailable" };
        assert!(answer.contains(status), "{answer}");
        assert_eq!(answer.contains(r#""status":"stopping""#), !is_ready, "{answer}");
    }
    // A connection that was open before is served as well.
    open.write_all(b"GET /api/health/live HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert!(read_to_end(&mut open).await.contains("200 OK"));
    let address = server.address;
    server.stopped().await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_idle_connections() {
    let server = start(memory(), LimitsConfig::default()).await;
    let mut stream = server.connect().await;
    let request = "GET /api/health/live HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, "\"ok\"}").await;
    server.shutdown.cancel();
    server.stopped().await;
    assert_eq!(read_to_end(&mut stream).await, "");
}

#[tokio::test]
async fn a_shutdown_waits_no_longer_than_its_grace() {
    let limits = LimitsConfig { shutdown_grace_ms: 100, ..LimitsConfig::default() };
    let server = start(faulty(Fault::Hang), limits).await;
    let mut stream = server.connect().await;
    stream.write_all(head(BODY.len()).as_bytes()).await.unwrap();
    read_until(&mut stream, "100 Continue").await;
    stream.write_all(BODY.as_bytes()).await.unwrap();
    let started = Instant::now();
    server.shutdown.cancel();
    server.stopped().await;
    assert!(started.elapsed() >= Duration::from_millis(100));
    assert!(started.elapsed() < Duration::from_secs(5), "the deadline is 10 s");
}

#[tokio::test]
async fn a_body_announced_as_too_large_is_refused_before_it_is_sent() {
    let server = start(memory(), LimitsConfig::default()).await;
    let mut stream = server.connect().await;
    stream.write_all(head(1 << 30).as_bytes()).await.unwrap();
    let answer = read_until(&mut stream, "body-too-large").await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test]
async fn oversized_headers_are_refused() {
    let server = start(memory(), LimitsConfig::default()).await;
    let mut stream = server.connect().await;
    let request =
        format!("GET / HTTP/1.1\r\nhost: localhost\r\nx-a: {}\r\n\r\n", "a".repeat(1 << 20));
    // The server may close the connection before it has read everything.
    let _sent = stream.write_all(request.as_bytes()).await;
    let answer = read_until(&mut stream, "\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn beyond_the_limit_connections_wait_for_their_turn() {
    let limits = LimitsConfig { connections: 1, ..LimitsConfig::default() };
    let server = start(memory(), limits).await;
    let request = "GET /api/health/live HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut first = server.connect().await;
    first.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut first, "\"ok\"}").await;
    let mut second = server.connect().await;
    second.write_all(request.as_bytes()).await.unwrap();
    let early = timeout(Duration::from_millis(100), second.read_u8()).await;
    assert!(early.is_err(), "the first connection is still open");
    drop(first);
    read_until(&mut second, "\"ok\"}").await;
}

/// Listens to a chat.
pub(crate) async fn listen(server: &Server, path: &str) -> TcpStream {
    let mut stream = server.connect().await;
    let request = format!("GET {path}/events HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, "event: ").await;
    stream
}

#[tokio::test]
async fn a_shutdown_ends_event_streams_with_a_reconnection_time() {
    let store = memory();
    let path = Client::over(store.clone(), Config::default()).create_chat("c1").await;
    let server = start(store, LimitsConfig::default()).await;
    let mut stream = listen(&server, &path).await;
    read_until(&mut stream, "\n\n").await;
    server.shutdown.cancel();
    let rest = read_to_end(&mut stream).await;
    assert!(rest.contains("retry: ") && rest.ends_with("0\r\n\r\n"), "{rest}");
    server.stopped().await;
}

#[tokio::test]
async fn a_reader_of_events_that_accepts_nothing_is_disconnected() {
    let store = memory();
    let client = Client::over(store.clone(), Config::default());
    let path = client.create_chat("c1").await;
    let large = json!({"role": "user", "content": "x".repeat(500_000)});
    for _ in 0..10 {
        let messages = json!({"messages": vec![large.clone(); 8]});
        assert_eq!(client.post(&format!("{path}/messages"), messages).await.status, 201);
    }
    let limits = LimitsConfig { write_timeout_ms: 300, subscribers: 1, ..LimitsConfig::default() };
    let server = start(store, limits).await;
    let _stalled = listen(&server, &path).await;
    // The limit is one.
    loop {
        let mut stream = server.connect().await;
        let request = format!("GET {path}/events?after=79 HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let head = read_until(&mut stream, "\r\n\r\n").await;
        if head.starts_with("HTTP/1.1 200") {
            read_until(&mut stream, "event: caught-up").await;
            break;
        }
        assert!(head.starts_with("HTTP/1.1 503"), "{head}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A request that is hidden in the body of another one, for a server that disagrees with a proxy about where the body ends.
const HIDDEN: &str =
    "POST /api/chats/hidden HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";

/// Requests whose length is ambiguous.
fn ambiguous() -> Vec<(&'static str, String)> {
    let head = "POST /api/chats/acme_corp HTTP/1.1\r\nhost: localhost\r\n\
                content-type: application/json\r\n";
    let length = HIDDEN.len();
    vec![
        (
            "a length and chunks",
            format!(
                "{head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}"
            ),
        ),
        (
            "chunks and a length",
            format!(
                "{head}transfer-encoding: chunked\r\ncontent-length: {}\r\n\r\n0\r\n\r\n{HIDDEN}",
                length + 5
            ),
        ),
        (
            "two lengths",
            format!(
                "{head}content-length: 2\r\ncontent-length: {}\r\n\r\n{{}}{HIDDEN}",
                length + 2
            ),
        ),
        (
            "two lengths in one field",
            format!("{head}content-length: 2, {}\r\n\r\n{{}}{HIDDEN}", length + 2),
        ),
        ("a signed length", format!("{head}content-length: +2\r\n\r\n{{}}{HIDDEN}")),
        (
            "an unknown coding after chunks",
            format!("{head}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{HIDDEN}"),
        ),
        (
            "a folded field",
            format!("{head}x-folded: a\r\n content-length: 2\r\ncontent-length: 0\r\n\r\n{HIDDEN}"),
        ),
        (
            "a folded coding",
            format!("{head}transfer-encoding:\r\n chunked\r\n\r\n0\r\n\r\n{HIDDEN}"),
        ),
        (
            "a blank before the colon",
            format!("{head}transfer-encoding : chunked\r\ncontent-length: 2\r\n\r\n{{}}{HIDDEN}"),
        ),
        (
            "a chunk that ends with a bare line feed",
            format!("{head}transfer-encoding: chunked\r\n\r\n2\n{{}}\n0\n\n{HIDDEN}"),
        ),
        (
            "a size that is too large",
            format!(
                "{head}transfer-encoding: chunked\r\n\r\n10000000000000002\r\n{{}}\r\n0\r\n\r\n{HIDDEN}"
            ),
        ),
    ]
}

#[tokio::test]
async fn a_request_whose_length_is_ambiguous_is_never_answered_as_two() {
    let limits = LimitsConfig { request_timeout_ms: 1_000, ..LimitsConfig::default() };
    let server = start(memory(), limits).await;
    let mut wrong = Vec::new();
    for (what, request) in ambiguous() {
        let mut stream = server.connect().await;
        // The server may close the connection before it has read everything.
        let _sent = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        // A connection that is reset counts as closed.
        let closing = stream.read_to_end(&mut answer);
        let is_closed = timeout(Duration::from_secs(3), closing).await.is_ok();
        let answer = String::from_utf8_lossy(&answer);
        let answers = answer.matches("HTTP/1.1 ").count();
        let is_refused = answers == 0 || answer.starts_with("HTTP/1.1 4");
        if answers > 1 || !is_refused || !is_closed {
            wrong.push(format!("{what}: closed: {is_closed}, {answers} answers: {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
