//! What one caller can make a service hold: each test has a ceiling for its resident set, and the service must
//! answer other callers meanwhile.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};
use tests::client::{APP, refusal};
use tests::database::Database;
use tests::memory::{Watched, watch};
use tests::service::Service;
use tests::settings::Settings;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::sleep;

/// What a service may need besides: threads, connections, and what its allocator retains.
const SLACK_MB: f64 = 10.0;

/// The time in which a service must answer a health check while it is busy. It takes some milliseconds; the
/// limit is for machines that are busy with other tests, too.
const LIVE_P99: Duration = Duration::from_secs(1);

#[expect(clippy::print_stdout, reason = "the numbers, for --nocapture")]
fn check(what: &str, Watched { memory, live_p99 }: Watched, ceiling_mb: f64) -> Result<()> {
    let growth = memory.growth();
    println!("{what}: {memory:?}, growth {growth:.1} MB, live p99 {live_p99:?}");
    ensure!(growth <= ceiling_mb, "{what}: it grew by {growth:.1} MB, above {ceiling_mb:.1} MB");
    ensure!(live_p99 <= LIVE_P99, "{what}: it answered a health check in {live_p99:?}");
    Ok(())
}

/// Posts a body, and returns the status and the text of the answer.
async fn post(service: &Service, path: &str, body: String) -> Result<(u16, String)> {
    let http = reqwest::Client::builder().no_proxy().build()?;
    let request = http.post(format!("{}/api/chats/{APP}{path}", service.url()));
    let answer = request.header(CONTENT_TYPE, "application/json").body(body).send().await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}

/// Repeats an item in a list until a body has a size.
fn body(start: &str, item: &str, end: &str, bytes: u32) -> String {
    let room = bytes as usize - start.len() - end.len();
    format!("{start}{}{end}", vec![item; room / (item.len() + 1)].join(","))
}

#[tokio::test]
async fn a_body_takes_three_times_its_size_at_most() -> Result<()> {
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let message = r#"{"role":"user","content":"#;
    let bodies = [
        ("messages", "/c/messages", r#"{"messages":["#, "{}", "]}", 413),
        ("a transcript", "/c/messages?dialect=openai", r#"{"messages":["#, "{}", "]}", 413),
        ("events", "/c/messages?dialect=acp", r#"{"messages":["#, "{}", "]}", 413),
        ("numbers", "/c/messages", &format!("{message}["), "0", "]}", 413),
        ("lists", "/c/messages", &format!("{message}["), "[0]", "]}", 413),
        ("objects", "", "{\"a\":[", r#"{"a":0}"#, "]}", 413),
        ("a text", "", "{\"a\":\"", "x", "\"}", 422),
    ];
    for (what, path, start, item, end, status) in bodies {
        for mebibytes in [3, 12, 16] {
            let body = body(start, item, end, mebibytes << 20);
            let (answer, watched) = watch(&service, post(&service, path, body)).await?;
            ensure!(answer.0 == status, "{what}: {answer:?}");
            let ceiling = f64::from(3 * (mebibytes << 20)) / 1e6 + SLACK_MB;
            check(&format!("{what}, {mebibytes} MiB"), watched, ceiling)?;
        }
    }
    service.stop().await
}

#[tokio::test]
async fn bodies_at_once_wait_for_memory() -> Result<()> {
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let posting = try_join_all((0..8).map(|_| {
        let body = body(r#"{"messages":["#, "{}", "]}", 16 << 20);
        post(&service, "/c/messages", body)
    }));
    let (answers, watched) = watch(&service, posting).await?;
    // Those that waited too long for memory are told to come back.
    ensure!(answers.iter().all(|answer| matches!(answer.0, 413 | 429 | 503)), "{answers:?}");
    check("8 bodies of 16 MiB at once", watched, 160.0)?;
    service.stop().await
}

#[tokio::test]
async fn plans_at_once_wait_for_memory() -> Result<()> {
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let chat = service.client()?.create_chat("Limits").await?;
    for _ in 0..58 {
        chat.append(&[json!({"role": "user", "content": "x".repeat((1 << 20) - 100)})]).await?;
    }
    let planning = try_join_all((0..4).map(async |_| {
        // A plan that waited too long for memory is refused, and may be repeated.
        loop {
            match chat.get("resume").await {
                Ok(plan) => return anyhow::Ok(plan.to_string().len()),
                Err(error) => ensure!(matches!(refusal::<()>(Err(error))?.status, 429 | 503)),
            }
            sleep(Duration::from_millis(500)).await;
        }
    }));
    let (plans, watched) = watch(&service, planning).await?;
    ensure!(plans.iter().all(|bytes| *bytes > 60_000_000), "{plans:?}");
    check("4 plans of 58 MiB at once", watched, 200.0)?;
    service.stop().await
}

#[tokio::test]
async fn a_diff_of_large_snapshots_takes_little() -> Result<()> {
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let chat = service.client()?.create_chat("Limits").await?;
    for value in ["a", "b"] {
        let member = |key: u32| (format!("{key:05}"), Value::from(value.repeat(2_000)));
        let data: Map<_, _> = (0..2_000).map(member).collect();
        chat.put("context", &Value::Object(data)).await?;
    }
    let reading = async { Ok(chat.get("context/diff?from=1&to=2").await?) };
    let (diff, watched) = watch(&service, reading).await?;
    ensure!(diff["patch"].as_array().is_some_and(|patch| patch.len() == 2_000));
    check("a diff of two snapshots of 4 MB", watched, 64.0)?;
    service.stop().await
}

/// Opens a stream of events that accepts nothing.
async fn stalled(service: &Service, path: &str) -> Result<TcpStream> {
    let address = service.url().strip_prefix("http://").context("no address")?;
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}

#[tokio::test]
async fn slow_subscribers_share_the_memory_of_their_caller() -> Result<()> {
    const SUBSCRIBERS: usize = 500;
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let chat = service.client()?.create_chat("Limits").await?;
    for _ in 0..20 {
        chat.append(&[json!({"role": "user", "content": "x".repeat(1 << 20)})]).await?;
    }
    let path = format!("/api/chats/{APP}/{}/events", chat.id());
    let listening = async {
        let streams = (0..SUBSCRIBERS).map(|_| stalled(&service, &path));
        let streams = try_join_all(streams).await?;
        sleep(Duration::from_secs(5)).await;
        Ok(streams)
    };
    let (streams, watched) = watch(&service, listening).await?;
    // The share of one caller is 128 MiB; the rest is what 500 connections need.
    check("500 slow subscribers", watched, 200.0)?;
    drop(streams);
    service.stop().await
}

#[tokio::test]
async fn a_herd_that_reconnects_after_many_edits_reads_in_turns() -> Result<()> {
    const CLIENTS: usize = 1_000;
    const MESSAGES: usize = 20;
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let chat = service.client()?.create_chat("Limits").await?;
    let message = json!({"role": "user", "content": "x".repeat(1_000)});
    chat.append(&vec![message; MESSAGES]).await?;
    for edit in 0..1_000 {
        let path = format!("messages/{}", edit % MESSAGES);
        chat.send(Method::PATCH, &path, Some(&json!({"content": edit.to_string().repeat(300)})))
            .await?;
    }
    let id = (MESSAGES - 1).to_string();
    let reconnecting = async {
        let herd = (0..CLIENTS).map(async |_| {
            let mut events = chat.events(Some(&id)).await?;
            let mut edits = 0;
            while let Some(event) = events.next().await? {
                match event.name.as_str() {
                    "message-updated" => edits += 1,
                    "caught-up" => break,
                    _ => {}
                }
            }
            ensure!(edits == MESSAGES, "{edits} edits");
            Ok(())
        });
        try_join_all(herd).await
    };
    let (_, watched) = watch(&service, reconnecting).await?;
    check("1,000 clients that reconnect after 1,000 edits", watched, 200.0)?;
    service.stop().await
}
