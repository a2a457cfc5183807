//! What one caller can make a service hold: each test has a ceiling for its resident set, and the service must
//! answer other callers meanwhile.

use std::time::Duration;

use anyhow::{Result, ensure};
use reqwest::header::CONTENT_TYPE;
use tests::client::APP;
use tests::database::Database;
use tests::memory::{Watched, watch};
use tests::service::Service;
use tests::settings::Settings;

/// What a service may need besides: threads, connections, and what its allocator retains.
const SLACK_MB: f64 = 10.0;

/// The time in which a service must answer a health check, also while it is busy, on a machine that is.
const LIVE_P99: Duration = Duration::from_millis(250);

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
