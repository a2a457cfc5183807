//! The quotas of users, apps and addresses, and clients that are too slow.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use persistence::memory::MemoryStore;
use serde_json::{Value, json};
use service::{AuthConfig, Config, LimitsConfig, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::harness::{Client, memory};
use crate::serve::{Server, read_to_end, start, start_with};
use crate::socket::{JOIN, Socket};
use crate::tokens::{hs256, token};

fn used_up() -> (u16, String) {
    (429, "too-many-requests".to_owned())
}

fn limited(limits: LimitsConfig) -> Client {
    let auth: AuthConfig = hs256();
    Client::over(memory(), Config { auth, limits, ..Config::default() })
}

#[tokio::test]
async fn a_user_beyond_their_quota_waits_and_others_do_not() {
    let service = limited(LimitsConfig { requests_per_sec_per_user: 1, ..LimitsConfig::default() });
    let alice = service.with_token(token(&json!({})));
    let path = "/api/chats/acme_corp";
    for left in (0..10).rev() {
        let answer = alice.get(path).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("ratelimit-remaining"), left.to_string());
        assert_eq!(answer.header("ratelimit-limit"), "10");
        assert_eq!(answer.header("ratelimit-reset"), (10 - left).to_string());
    }
    let refused = alice.get(path).await;
    assert_eq!((refused.problem(), refused.header("retry-after")), (used_up(), "1"));
    assert_eq!(refused.header("ratelimit-remaining"), "0");
    assert_eq!(refused.header("ratelimit-reset"), "10");

    let bob = service.with_token(token(&json!({"sub": "bob"})));
    let orchestrator = service.with_token(token(&json!({"role": "service"})));
    for _ in 0..10 {
        assert_eq!(bob.get(path).await.status, 200);
    }
    for _ in 0..50 {
        assert_eq!(orchestrator.get(path).await.status, 200);
    }
    // A token that is not valid counts for no user.
    assert_eq!(service.with_token("x").get(path).await.status, 401);
}

#[tokio::test]
async fn sockets_count_for_the_quota_of_their_user() {
    let limits = LimitsConfig { requests_per_sec_per_user: 1, ..LimitsConfig::default() };
    let config = Config { auth: hs256(), limits, ..Config::default() };
    let store = memory();
    let setup = Client::over(Arc::<MemoryStore>::clone(&store), config.clone());
    setup.with_token(token(&json!({}))).create_chat("c1").await;
    let server = start_with(store, config).await;
    let of = |sub: &str| token(&json!({"sub": sub}));
    let bearer = format!("Bearer {}", of("alice"));
    let authorization = [("authorization", &*bearer)];
    let mut socket = Socket::try_open(&server, JOIN, &authorization).await.unwrap();
    socket.until("chat.resume_boundary").await;
    for n in 0..30 {
        let said = json!({"type": "user.input.submit", "text": "x", "event_id": format!("e{n}")});
        socket.send(said).await;
    }
    let (mut stored, mut refused) = (0, 0);
    while stored + refused < 30 {
        let frame = socket.next().await;
        match frame["type"].as_str().unwrap() {
            "chat.input_ack" => stored += 1,
            "chat.error" => {
                assert_eq!(frame["error_code"], "RATE_LIMIT_EXCEEDED", "{frame}");
                refused += 1;
            }
            _ => {}
        }
    }
    assert!((1..20).contains(&stored), "{stored} of 30 were stored");

    let protocols = format!("reprise.v1, bearer.{}", of("bob"));
    let mut tried = Vec::new();
    for _ in 0..20 {
        let path = "/ws/Generator/acme_corp/c1/bob";
        let offered = [("sec-websocket-protocol", &*protocols)];
        tried.push(Socket::try_open(&server, path, &offered).await.map(drop));
    }
    assert!(tried.contains(&Err(429)), "{tried:?}");
}

#[tokio::test]
async fn an_app_beyond_its_quota_leaves_other_apps_alone() {
    let service = limited(LimitsConfig { requests_per_sec_per_app: 1, ..LimitsConfig::default() });
    let orchestrator = service.with_token(token(&json!({"role": "service", "apps": ["*"]})));
    for _ in 0..10 {
        assert_eq!(orchestrator.get("/api/chats/acme_corp").await.status, 200);
    }
    assert_eq!(orchestrator.get("/api/chats/acme_corp").await.problem(), used_up());
    assert_eq!(orchestrator.get("/api/chats/globex").await.status, 200);
}

#[tokio::test]
async fn requests_that_are_refused_use_up_no_quota_of_an_app() {
    let service = limited(LimitsConfig { requests_per_sec_per_app: 1, ..LimitsConfig::default() });
    let stranger = service.with_token(token(&json!({"sub": "mallory", "apps": ["globex"]})));
    for _ in 0..30 {
        assert_eq!(stranger.get("/api/chats/acme_corp").await.status, 403);
        assert_eq!(service.get("/api/chats/acme_corp").await.status, 401);
    }
    let orchestrator = service.with_token(token(&json!({"role": "service", "apps": ["*"]})));
    assert_eq!(orchestrator.get("/api/chats/acme_corp").await.status, 200);
}

#[tokio::test]
async fn a_user_has_a_number_of_live_streams() {
    let service = limited(LimitsConfig { streams_per_user: 2, ..LimitsConfig::default() });
    let alice = service.with_token(token(&json!({})));
    let path = format!("{}/events", alice.create_chat("c1").await);
    let open = async || crate::events::Reader::open(&alice, &path, None).await;
    let (first, _second) = (open().await, open().await);
    let refused = alice.get(&path).await;
    assert_eq!((refused.problem(), refused.header("retry-after")), (used_up(), "5"));
    let bob = service.with_token(token(&json!({"sub": "bob"})));
    let _bobs = crate::events::Reader::open(&bob, &path, None).await;
    drop(first);
    let _third = open().await;
}

fn new_chat() -> Value {
    json!({"workflow_name": "Generator", "visibility": "link"})
}

#[tokio::test]
async fn a_user_and_an_app_create_a_number_of_chats_per_minute() {
    let service = limited(LimitsConfig {
        new_chats_per_min_per_user: 3,
        new_chats_per_min_per_app: 5,
        ..LimitsConfig::default()
    });
    let of = |sub: &str| service.with_token(token(&json!({"sub": sub})));
    let (alice, bob, chats) = (of("alice"), of("bob"), "/api/chats/acme_corp");
    let named = json!({"chat_id": "c1", "workflow_name": "Generator", "visibility": "link"});
    assert_eq!(alice.post(chats, named.clone()).await.status, 201);
    // A repeat counts, and so does a fork.
    assert_eq!(alice.post(chats, named).await.status, 200);
    let fork = format!("{chats}/c1/fork");
    assert_eq!(alice.post(&fork, json!({})).await.status, 201);
    for refused in [alice.post(chats, new_chat()).await, alice.post(&fork, json!({})).await] {
        assert_eq!(refused.problem(), used_up());
        let wait: u64 = refused.header("retry-after").parse().unwrap();
        assert!((1..=20).contains(&wait), "{wait}");
        assert!(refused.text.contains("the user has reached its limit of 3 new chats per minute"));
    }
    let listed = alice.get(chats).await;
    assert_eq!(listed.body()["data"].as_array().unwrap().len(), 2, "{}", listed.text);

    for _ in 0..2 {
        assert_eq!(bob.post(chats, new_chat()).await.status, 201);
    }
    let refused = bob.post(chats, new_chat()).await;
    assert_eq!(refused.problem(), used_up());
    assert!(refused.text.contains("the app has reached its limit of 5 new chats per minute"));
    let orchestrator = service.with_token(token(&json!({"role": "service", "apps": ["*"]})));
    assert_eq!(orchestrator.post(chats, new_chat()).await.problem(), used_up());
    for _ in 0..5 {
        assert_eq!(orchestrator.post("/api/chats/globex", new_chat()).await.status, 201);
    }
}

#[tokio::test]
async fn an_app_asks_a_number_of_questions_per_minute() {
    let service = limited(LimitsConfig { questions_per_min_per_app: 2, ..LimitsConfig::default() });
    let service = service.with_token(token(&json!({"role": "service", "apps": ["*"]})));
    let questions = |app: &str| format!("/api/chats/{app}/{app}/input-requests");
    for app in ["acme_corp", "globex"] {
        let new = json!({"chat_id": app, "workflow_name": "Generator"});
        assert_eq!(service.post(&format!("/api/chats/{app}"), new).await.status, 201);
    }
    let question = json!({"request_id": "q1", "prompt": "Why?"});
    for status in [201, 200] {
        assert_eq!(service.post(&questions("acme_corp"), question.clone()).await.status, status);
    }
    let refused = service.post(&questions("acme_corp"), json!({"prompt": "How?"})).await;
    assert_eq!(refused.problem(), used_up());
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    let asked = service.get(&questions("acme_corp")).await.body();
    assert_eq!(asked["data"].as_array().unwrap().len(), 1, "{asked}");
    assert_eq!(service.post(&questions("globex"), question).await.status, 201);
}

#[tokio::test]
async fn a_quota_of_zero_is_none() {
    let service = limited(LimitsConfig {
        new_chats_per_min_per_user: 0,
        new_chats_per_min_per_app: 0,
        questions_per_min_per_app: 0,
        ..LimitsConfig::default()
    });
    let service = service.with_token(token(&json!({"role": "service"})));
    let path = service.create_chat("c1").await;
    let question = json!({"request_id": "q1", "prompt": "Why?"});
    for _ in 0..30 {
        assert_eq!(service.post("/api/chats/acme_corp", new_chat()).await.status, 201);
        let asked = service.post(&format!("{path}/input-requests"), question.clone()).await;
        assert!(asked.status < 300, "{}", asked.text);
    }
}

/// Gets a path from an address of this machine. Returns the head of the response.
async fn get_from(address: [u8; 4], server: &Server, path: &str, forwarded: &str) -> String {
    let mut stream = connect_from(address, server.address).await;
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{forwarded}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = read_to_end(&mut stream).await;
    answer.split("\r\n\r\n").next().unwrap().to_ascii_lowercase()
}

fn is_used_up(head: &str) -> bool {
    let is_refused = head.starts_with("http/1.1 429");
    assert!(!is_refused || head.contains("\r\nretry-after: 1"), "{head}");
    is_refused
}

async fn limited_by_address(trusted_proxies: Vec<String>) -> Server {
    let limits = LimitsConfig { requests_per_sec_per_address: 1, ..LimitsConfig::default() };
    let listen = ServerConfig { trusted_proxies, ..ServerConfig::default() };
    start_with(memory(), Config { server: listen, limits, ..Config::default() }).await
}

const ATTEMPTS: usize = 40;

#[tokio::test]
async fn an_address_beyond_its_quota_waits_whatever_it_asks_for() {
    let server = limited_by_address(Vec::new()).await;
    let (one, other) = ([127, 0, 0, 2], [127, 0, 0, 3]);
    for path in [
        "/api/chats/acme_corp",
        "/openapi.json",
        "/dashboard",
        "/dashboard/unknown",
        "/unknown/path",
        "/api/health/unknown",
        // No route has this method.
        "/api/sign-out",
    ] {
        let mut is_refused = false;
        for _ in 0..ATTEMPTS {
            is_refused = is_used_up(&get_from(one, &server, path, "").await);
            if is_refused {
                break;
            }
        }
        assert!(is_refused, "{path} does not count");
    }
    // A probe is answered all the same.
    for path in ["/api/health/live", "/api/health/ready"].repeat(20) {
        let head = get_from(one, &server, path, "").await;
        assert!(head.starts_with("http/1.1 200"), "{head}");
    }
    assert!(is_used_up(&get_from(one, &server, "/openapi.json", "").await));
    assert!(!is_used_up(&get_from(other, &server, "/openapi.json", "").await));
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_forwarded_address_counts() {
    let server = limited_by_address(vec!["127.0.0.2".to_owned()]).await;
    let (proxy, stranger) = ([127, 0, 0, 2], [127, 0, 0, 3]);
    let get = async |from, forwarded: &str| {
        let header = format!("x-forwarded-for: {forwarded}\r\n");
        is_used_up(&get_from(from, &server, "/api/chats/acme_corp", &header).await)
    };
    let use_up = async |from, forwarded: &dyn Fn(usize) -> String| {
        for number in 0..ATTEMPTS {
            if get(from, &forwarded(number)).await {
                return true;
            }
        }
        false
    };
    assert!(use_up(proxy, &|_| "203.0.113.7".to_owned()).await);
    assert!(!get(proxy, "203.0.113.8").await, "another client of the proxy");
    // What the client itself has written stands before what the proxy adds.
    assert!(use_up(proxy, &|number| format!("198.51.100.{number}, 203.0.113.7")).await);
    // An address that is no proxy is not believed: it neither escapes its quota nor uses up that of another.
    assert!(use_up(stranger, &|number| format!("192.0.2.{number}")).await);
    assert!(use_up(stranger, &|_| "203.0.113.9".to_owned()).await);
    assert!(!get(proxy, "203.0.113.9").await);
}

/// Connects from another address of this machine.
async fn connect_from(address: [u8; 4], server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((address, 0))).unwrap();
    socket.connect(server).await.unwrap()
}

async fn live(stream: &mut TcpStream) -> bool {
    let request = b"GET /api/health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut answer = String::new();
    let asking = async {
        stream.write_all(request).await?;
        stream.read_to_string(&mut answer).await
    };
    matches!(timeout(Duration::from_secs(5), asking).await, Ok(Ok(_))) && answer.contains(" 200 ")
}

#[tokio::test]
async fn half_open_connections_of_one_address_leave_room_for_others() {
    let limits = LimitsConfig {
        connections: 50,
        connections_per_address: 20,
        header_timeout_ms: 60_000,
        ..LimitsConfig::default()
    };
    let server = start(memory(), limits).await;
    let mut half_open = Vec::new();
    for _ in 0..60 {
        let mut stream = connect_from([127, 0, 0, 2], server.address).await;
        // A refused connection may be closed already.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n").await;
        half_open.push(stream);
    }
    let mut other = connect_from([127, 0, 0, 3], server.address).await;
    assert!(live(&mut other).await);
    let mut same = connect_from([127, 0, 0, 2], server.address).await;
    assert!(!live(&mut same).await);
    drop(half_open);
    sleep(Duration::from_millis(100)).await;
    let mut same = connect_from([127, 0, 0, 2], server.address).await;
    assert!(live(&mut same).await);
}

#[tokio::test]
async fn a_reader_that_accepts_too_few_bytes_is_hung_up_on() {
    let store = memory();
    let client = Client::over(store.clone(), Config::default());
    let path = format!("{}/messages", client.create_chat("c1").await);
    client.post(&path, json!({"role": "user", "content": "x".repeat(3 << 20)})).await;
    for (min_bytes_per_sec, is_complete) in [(1 << 30, false), (0, true)] {
        let limits =
            LimitsConfig { write_timeout_ms: 200, min_bytes_per_sec, ..LimitsConfig::default() };
        let server = start(store.clone(), limits).await;
        // The kernel of the client would take all of it at once.
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(32 << 10).unwrap();
        let mut stream = socket.connect(server.address).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let (started, mut received, mut buffer) = (Instant::now(), 0, vec![0; 64 << 10]);
        while let Ok(bytes @ 1..) = stream.read(&mut buffer).await {
            received += bytes;
            sleep(Duration::from_millis(30)).await;
        }
        let is_all = received > 3 << 20;
        assert_eq!(is_all, is_complete, "{received} bytes in {:?}", started.elapsed());
    }
}
