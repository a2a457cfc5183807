//! Histories that are too long to hold in memory, and histories that are aborted.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use futures::TryStreamExt as _;
use persistence::{Messages as _, Store};
use records::{AppId, ChatId, Scope};
use resume::{Options, dialect, window};
use serde_json::{Value, json};
use service::{Config, LimitsConfig, router};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tower::ServiceExt as _;

use crate::faulty::{Fault, faulty};
use crate::harness::{Client, memory};
use crate::histories::{CONTENT, Meter};
use crate::serve::{Server, start};

const NDJSON: &str = "application/x-ndjson";
const HISTORY: &str = "/api/chats/acme_corp/c1/history";

/// An exchange of four messages that every dialect drops or repairs something of.
fn exchange(number: usize) -> [Value; 4] {
    let id = format!("call_{}", number % 700);
    let call = json!({"id": id, "type": "function", "function": {"name": "f", "arguments": {}}});
    let text = number.to_string().repeat(300);
    [
        json!({"role": "user", "name": "inter viewer", "content": text}),
        json!({"role": "assistant", "name": "planner", "content": "", "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": text}),
        json!({"role": if number.is_multiple_of(100) { "system" } else { "assistant" }, "content": "x"}),
    ]
}

#[tokio::test]
async fn a_long_chat_is_streamed_as_it_would_be_rendered_at_once() {
    let store = memory();
    let client = Client::over(store.clone(), Config::default());
    let path = client.create_chat("c1").await;
    for batch in 0..10 {
        let messages: Vec<_> = (batch * 200..(batch + 1) * 200).flat_map(exchange).collect();
        client.post(&format!("{path}/messages"), json!({"messages": messages})).await;
    }
    let (scope, chat_id) =
        (Scope::service(AppId::parse("acme_corp").unwrap()), ChatId::parse("c1").unwrap());
    let all: Vec<_> = store.history(&scope, &chat_id).try_collect().await.unwrap();
    assert!(all.len() == 8_000);
    for dialect in dialect::all() {
        for newest in [None, Some(3), Some(4_001), Some(usize::MAX)] {
            let query = newest.map(|newest| format!("&newest={newest}")).unwrap_or_default();
            let url = format!("{HISTORY}?dialect={}{query}", dialect.name());
            let answer = client.get(&url).await;
            let window = window::newest(all.clone(), newest.unwrap_or(usize::MAX));
            let rendered = dialect.render(window, &Options::default());
            assert_eq!(answer.text, at_once(dialect.name(), &rendered), "{url}");
            let lines = client.get_as(NDJSON, &url).await;
            assert_eq!(as_one_object(&lines.text), answer.body(), "{url}");
        }
    }
}

/// Writes a history as one text.
fn at_once(dialect: &str, rendered: &dialect::Rendered) -> String {
    let dropped = rendered.dropped.iter().map(|it| {
        let (reason, detail) = (it.reason.slug(), it.reason.to_string());
        json!({"sequence": it.sequence, "reason": reason, "detail": detail})
    });
    let repaired = rendered.repaired.iter().map(|it| {
        let (repair, detail) = (it.repair.slug(), it.repair.to_string());
        json!({"sequence": it.sequence, "repair": repair, "detail": detail})
    });
    let mut history = json!({
        "chat_id": "c1", "dialect": dialect, "messages": rendered.messages,
        "dropped": dropped.collect::<Vec<_>>(),
    });
    let repaired: Vec<_> = repaired.collect();
    if !repaired.is_empty() {
        history["repaired"] = json!(repaired);
    }
    history["last_sequence"] = json!(8_000);
    if !rendered.names.is_empty() {
        history["names"] = json!(rendered.names);
    }
    if !rendered.ids.is_empty() {
        history["ids"] = json!(rendered.ids);
    }
    if !rendered.system.is_empty() {
        history["system"] = json!(rendered.system);
    }
    history.to_string()
}

/// Joins the lines into the object of the JSON format.
fn as_one_object(lines: &str) -> Value {
    let mut lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut end = lines.pop().unwrap();
    let fields = end.as_object_mut().unwrap();
    assert_eq!(fields.shift_remove("complete"), Some(json!(true)));
    assert_eq!(fields.shift_remove("message_count"), Some(json!(lines.len())));
    end["messages"] = json!(lines);
    end
}

#[tokio::test]
async fn a_failure_before_anything_is_sent_is_a_problem() {
    for (count, query) in [(0, ""), (3, ""), (3, "dialect=openai"), (5_000, "newest=10")] {
        let client = Client::over(faulty(Fault::BreakOff(count)), Config::default());
        let answer = client.get(&format!("{HISTORY}?{query}")).await;
        assert_eq!(answer.problem(), (503, "store-unavailable".to_owned()), "{count} {query}");
    }
}

#[tokio::test]
async fn a_failure_half_way_aborts_the_response() {
    let app = router(faulty(Fault::BreakOff(500)), Config::default()).unwrap();
    for media_type in ["application/json", NDJSON] {
        let client = Client::open();
        let request = client.request("GET", HISTORY).header("accept", media_type);
        let request = request.body(Body::empty()).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(to_bytes(response.into_body(), usize::MAX).await.is_err(), "{media_type}");
    }
}

/// Requests a history on a TCP connection.
async fn ask(address: SocketAddr, media_type: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request =
        format!("GET {HISTORY} HTTP/1.1\r\nhost: localhost\r\naccept: {media_type}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn an_aborted_response_cannot_be_mistaken_for_a_complete_one() {
    let Server { address, .. } = start(faulty(Fault::BreakOff(500)), LimitsConfig::default()).await;
    for media_type in ["application/json", NDJSON] {
        let mut text = String::new();
        ask(address, media_type).await.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
        assert!(text.contains("transfer-encoding: chunked"), "{text}");
        assert!(text.len() > 64 * CONTENT, "some of it is sent");
        assert!(!text.ends_with("0\r\n\r\n"), "the last chunk is missing");
        assert!(!text.contains("complete") && !text.contains("dropped"), "{text}");
    }
}

/// Waits until a history is dropped, or nothing more of it is read.
async fn settled(meter: &Meter) -> usize {
    let mut seen = usize::MAX;
    loop {
        let read = meter.read.load(Ordering::Relaxed);
        if read > 0 && (read == seen || meter.is_dropped.load(Ordering::Relaxed)) {
            return read;
        }
        seen = read;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn until_dropped(meter: &Meter) {
    let dropped = async {
        while !meter.is_dropped.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), dropped).await.expect("the reading ends");
}

#[tokio::test]
async fn a_slow_reader_delays_only_its_own_history_and_stops_it_by_leaving() {
    let meter: &Meter = Box::leak(Box::default());
    let store: Arc<dyn Store> = faulty(Fault::Endless(meter));
    let Server { address, .. } = start(store, LimitsConfig::default()).await;
    let stream = ask(address, NDJSON).await;
    // The service reads ahead little more than the socket buffers of the system hold.
    let read = settled(meter).await;
    assert!(read * CONTENT < 64 << 20, "{read} messages");
    assert!(!meter.is_dropped.load(Ordering::Relaxed));
    drop(stream);
    until_dropped(meter).await;
}

#[tokio::test]
async fn a_reader_that_accepts_nothing_is_disconnected() {
    let meter: &Meter = Box::leak(Box::default());
    let store: Arc<dyn Store> = faulty(Fault::Endless(meter));
    let limits = LimitsConfig { write_timeout_ms: 300, ..LimitsConfig::default() };
    let Server { address, .. } = start(store, limits).await;
    let _stalled = ask(address, NDJSON).await;
    until_dropped(meter).await;
}

fn hurried(fault: Fault) -> Client {
    let limits = LimitsConfig { request_timeout_ms: 100, ..LimitsConfig::default() };
    Client::over(faulty(fault), Config { limits, ..Config::default() })
}

#[tokio::test]
async fn the_deadline_is_for_each_read_and_not_for_the_whole() {
    let trickle = hurried(Fault::Trickle(Duration::from_millis(10)));
    for query in ["", "?dialect=openai"] {
        let answer = trickle.get(&format!("{HISTORY}{query}")).await;
        assert_eq!(answer.body()["messages"].as_array().unwrap().len(), 20);
        let hanging = hurried(Fault::Hang).get(&format!("{HISTORY}{query}")).await;
        assert_eq!(hanging.problem(), (503, "store-unavailable".to_owned()));
        assert_eq!(hanging.header("retry-after"), "1");
    }
}
