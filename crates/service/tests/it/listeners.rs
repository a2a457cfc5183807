//! Listeners that serve one adapter only.

use std::net::SocketAddr;
use std::time::Duration;

use records::AppId;
use serde_json::{Value, json};
use service::{
    AdapterListener, AdaptersConfig, Config, HecateConfig, LimitsConfig, YaoConfig, router,
    serve_all,
};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::harness::{Client, memory};
use crate::serve::read_to_end;

const HECATE: &str = "/hecate/v1/chat/sessions";
const YAO: &str = "/v1/chat/sessions";

/// A service with a listener for the API, and one for each adapter.
struct Server {
    api: SocketAddr,
    adapters: Vec<SocketAddr>,
    shutdown: CancellationToken,
    running: JoinHandle<std::io::Result<()>>,
}

fn app(name: &str) -> AppId {
    AppId::parse(name).unwrap()
}

fn adapters() -> AdaptersConfig {
    let listen = Some("127.0.0.1:0".parse().unwrap());
    let enabled = true;
    AdaptersConfig {
        hecate: HecateConfig {
            enabled,
            listen,
            app_id: Some(app("v1")),
            ..HecateConfig::default()
        },
        yao: YaoConfig { enabled, listen, app_id: Some(app("yao")) },
        ..AdaptersConfig::default()
    }
}

async fn start(limits: LimitsConfig) -> Server {
    let config = Config { adapters: adapters(), limits, ..Config::default() };
    config.check("127.0.0.1:0".parse().unwrap()).unwrap();
    let api = router(memory(), config.clone()).unwrap();
    let (mut addresses, mut listeners) = (Vec::new(), Vec::new());
    let served = config.adapter_listeners().into_iter().map(|of| of.router(api.clone()));
    for app in std::iter::once(api.clone()).chain(served) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        addresses.push(listener.local_addr().unwrap());
        listeners.push((listener, app));
    }
    let shutdown = CancellationToken::new();
    let token = shutdown.clone();
    let running = tokio::spawn(async move { serve_all(listeners, &config, token).await });
    Server { api: addresses.remove(0), adapters: addresses, shutdown, running }
}

/// Sends a request on a connection of its own, and returns the status and the body of the response.
async fn send(address: SocketAddr, line: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = read_to_end(&mut stream).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

async fn send_json(address: SocketAddr, line: &str, body: &Value) -> (u16, Value) {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let (status, body) = send(address, line, &text).await;
    (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{line}: {body}")))
}

#[tokio::test]
async fn a_listener_serves_the_paths_of_its_adapter_and_shares_the_rest() {
    let server = start(LimitsConfig::default()).await;
    let [hecate, yao] = server.adapters[..] else { panic!("two adapters listen") };
    let title = json!({"title": "One"});
    let (status, created) = send_json(hecate, &format!("POST {HECATE}?x=1"), &title).await;
    assert_eq!(status, 200, "{created}");
    let id = created["data"]["id"].as_str().unwrap();
    // It is a chat of the app that the settings name, on every listener.
    let (status, chat) =
        send_json(server.api, &format!("GET /api/chats/v1/{id}"), &Value::Null).await;
    assert_eq!((status, &chat["title"]), (200, &json!("One")));
    assert_eq!(send(server.api, &format!("GET /hecate/v1/v1/chat/sessions/{id}"), "").await.0, 200);

    let assistant = json!({"assistant_id": "weather"});
    assert_eq!(send_json(yao, &format!("POST {YAO}"), &assistant).await.0, 200);
    let (status, listed) = send_json(yao, &format!("GET {YAO}?page=1"), &Value::Null).await;
    assert_eq!((status, &listed["total"]), (200, &json!(1)));

    let (_, metrics) = send(server.api, "GET /metrics", "").await;
    for route in ["/hecate/{app_id}/v1/chat/sessions", "/yao/{app_id}/v1/chat/sessions"] {
        let label = format!("reprise_http_requests_total{{method=\"POST\",route=\"{route}\"");
        assert!(metrics.contains(&label), "{label} is not in {metrics}");
    }
}

#[tokio::test]
async fn a_listener_serves_nothing_else() {
    let server = start(LimitsConfig::default()).await;
    let [hecate, yao] = server.adapters[..] else { panic!("two adapters listen") };
    for (listener, name) in [(hecate, "hecate"), (yao, "yao")] {
        let (status, described) = send_json(listener, "GET /openapi.json", &Value::Null).await;
        assert_eq!(status, 200);
        let paths = described["paths"].as_object().unwrap();
        assert!(paths.keys().all(|path| path.starts_with(&format!("/{name}/"))), "{paths:?}");
    }
    for path in [
        "/",
        "/metrics",
        "/dashboard",
        "/api/chats/v1",
        "/api/chats/yao",
        "/api/health/live",
        "/hecate/yao/v1/chat/sessions",
        "/yao/v1/v1/chat/sessions",
        "//api/chats/yao",
        "/v1/../api/chats/yao",
        "/%2e%2e/api/chats/yao",
    ] {
        for (listener, error) in [(hecate, "/error/type"), (yao, "/error")] {
            let (status, refused) = send_json(listener, &format!("GET {path}"), &Value::Null).await;
            assert_eq!(status, 404, "{path}: {refused}");
            assert!(refused.pointer(error).is_some_and(Value::is_string), "{path}: {refused}");
        }
    }
    assert_eq!(send(hecate, &format!("GET {YAO}"), "").await.0, 404);
    assert_eq!(send(yao, &format!("GET {HECATE}"), "").await.0, 404);
}

#[tokio::test]
async fn quotas_and_connections_are_those_of_all_listeners() {
    let limits = LimitsConfig {
        new_chats_per_min_per_app: 1,
        connections_per_address: 1,
        ..LimitsConfig::default()
    };
    let server = start(limits).await;
    let hecate = server.adapters[0];
    let new = json!({"workflow_name": "chat"});
    assert_eq!(send_json(server.api, "POST /api/chats/v1", &new).await.0, 201);
    let (status, refused) = send_json(hecate, &format!("POST {HECATE}"), &json!({})).await;
    assert_eq!((status, &refused["error"]["type"]), (429, &json!("rate_limited")));

    let mut open = TcpStream::connect(server.api).await.unwrap();
    open.write_all(b"GET /api/health/live HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    open.readable().await.unwrap();
    let mut refused = TcpStream::connect(hecate).await.unwrap();
    let _sent = refused.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let answer = timeout(Duration::from_secs(10), async {
        let mut bytes = Vec::new();
        let _ended = tokio::io::AsyncReadExt::read_to_end(&mut refused, &mut bytes).await;
        bytes
    });
    assert_eq!(answer.await.expect("the server hangs up"), b"");
}

#[tokio::test]
async fn a_shutdown_closes_every_listener() {
    let server = start(LimitsConfig::default()).await;
    server.shutdown.cancel();
    let stopped = timeout(Duration::from_secs(10), server.running).await;
    stopped.expect("it stops").unwrap().unwrap();
    for address in server.adapters.into_iter().chain([server.api]) {
        assert!(TcpStream::connect(address).await.is_err());
    }
}

#[tokio::test]
async fn a_disabled_adapter_has_no_listener() {
    let mut adapters = adapters();
    adapters.yao.enabled = false;
    let config = Config { adapters, ..Config::default() };
    let names: Vec<_> = config.adapter_listeners().iter().map(AdapterListener::name).collect();
    assert_eq!(names, ["hecate"]);
    assert_eq!(Client::over(memory(), config).get(YAO).await.status, 404);
}
