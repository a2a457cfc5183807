//! The metrics of a working service, and their users: rules, a dashboard, a table.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use serde_json::{Value, json};
use tests::client::{APP, Chat, refusal};
use tests::database::Database;
use tests::exposition::Exposition;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;

const RULES: &str = include_str!("../../../deploy/prometheus/rules.yml");
/// The dashboards: of the service, and of what apps do.
const DASHBOARDS: [&str; 2] = [
    include_str!("../../../deploy/grafana/reprise.json"),
    include_str!("../../../deploy/grafana/reprise-apps.json"),
];
const EXPLAINED: &str = include_str!("../../../docs/operations/observing.md");

pub(crate) async fn scrape(service: &Service) -> Result<Exposition> {
    let response = reqwest::get(format!("{}/metrics", service.url())).await?;
    let media_type = response.headers()["content-type"].to_str()?;
    ensure!(media_type.starts_with("application/openmetrics-text; version=1.0.0"));
    Exposition::parse(&response.error_for_status()?.text().await?)
}

fn said(text: &str) -> Value {
    json!({ "role": "user", "name": "user", "content": text })
}

/// Appends 20 messages one by one from each of 8 writers, then 100 together; and requests a missing chat.
async fn work(service: &Service) -> Result<Chat> {
    let client = service.client()?;
    let chat = client.create_chat("Generator").await?;
    let writers = (0..8).map(async |_| {
        for _ in 0..20 {
            chat.append(&[said("hello")]).await?;
        }
        anyhow::Ok(())
    });
    try_join_all(writers).await?;
    let large = client.create_chat("Generator").await?;
    large.append(&vec![said("hello"); 100]).await?;
    chat.history("ag2").await?;
    refusal(client.chat("nowhere").get("meta").await)?;
    Ok(chat)
}

#[tokio::test]
async fn a_workload_is_counted_as_it_was() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database).with("metrics.apps", APP);
    let service = Service::start(&settings).await?;
    work(&service).await?;
    let metrics = until("the sealing to be over", async || {
        let metrics = scrape(&service).await?;
        Ok((metrics.sum("reprise_sealing_segments_total", &[]) > 0.0).then_some(metrics))
    })
    .await?;

    let equal = |name: &str, labels: &[(&str, &str)], expected: f64| {
        let found = metrics.sum(name, labels);
        ensure!((found - expected).abs() < f64::EPSILON, "{name} {labels:?} is {found}");
        Ok(())
    };
    let appends = [("call", "append"), ("outcome", "ok")];
    equal("reprise_store_calls_total", &appends, 161.0)?;
    equal("reprise_store_call_duration_seconds_count", &appends[..1], 161.0)?;
    equal("reprise_store_messages_total", &[("outcome", "stored")], 260.0)?;
    equal("reprise_append_messages_sum", &[], 260.0)?;
    equal("reprise_append_group_appends_sum", &[], 161.0)?;
    equal("reprise_append_group_messages_sum", &[], 260.0)?;
    equal("reprise_append_segments_total", &[], 1.0)?;
    equal("reprise_append_queue_appends", &[], 0.0)?;
    equal("reprise_store_retries_total", &[], 0.0)?;
    let messages = ("route", "/api/chats/{app_id}/{chat_id}/messages");
    equal("reprise_http_requests_total", &[messages, ("status", "2xx")], 161.0)?;
    equal("reprise_app_requests_total", &[("app", APP), ("status", "2xx")], 164.0)?;
    equal("reprise_app_requests_total", &[("app", APP), ("status", "4xx")], 1.0)?;
    ensure!(metrics.sum("reprise_mongo_pool_connections_opened_total", &[]) > 0.0);
    ensure!(metrics.sum("process_start_time_seconds", &[]) > 1.7e9);
    service.stop().await
}

#[tokio::test]
async fn every_process_says_what_an_app_does_and_costs() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database).with("metrics.apps", APP);
    let (service, other) = (Service::start(&settings).await?, Service::start(&settings).await?);
    let client = service.client()?;
    let (asking, failed) =
        (client.create_chat("Generator").await?, client.create_chat("Planner").await?);
    for chat in [&asking, &failed] {
        let call = json!({
            "call_id": format!("call-{}", chat.id()), "model": "gpt-4.1", "prompt_tokens": 1000,
            "completion_tokens": 50, "duration_ms": 1500, "cost_usd": "0.25",
        });
        chat.post("calls", &call).await?;
    }
    let question = json!({ "request_id": "q1", "prompt": "Which date?" });
    asking.post("input-requests", &question).await?;
    failed.post("fail", &json!({})).await?;

    for process in [&service, &other] {
        let metrics = scrape(process).await?;
        let app = ("app", APP);
        for (name, labels, expected) in [
            ("reprise_app_chats", &[app, ("status", "paused")][..], 1.0),
            ("reprise_app_chats", &[app, ("status", "failed")], 1.0),
            ("reprise_app_chats", &[app, ("status", "running")], 0.0),
            ("reprise_app_chat_changes_total", &[app, ("change", "started")], 2.0),
            ("reprise_app_chat_changes_total", &[app, ("change", "failed")], 1.0),
            ("reprise_app_calls", &[app], 2.0),
            ("reprise_app_call_seconds", &[app], 3.0),
            ("reprise_app_tokens", &[app, ("kind", "prompt")], 2000.0),
            ("reprise_app_tokens", &[app, ("kind", "completion")], 100.0),
            ("reprise_app_cost_usd", &[app], 0.5),
            ("reprise_app_pending_questions", &[app], 1.0),
        ] {
            let found = metrics.sum(name, labels);
            ensure!((found - expected).abs() < 1e-9, "{name} {labels:?} is {found}");
        }
        let age = metrics.sum("reprise_app_oldest_question_age_seconds", &[app]);
        ensure!((0.0..60.0).contains(&age), "{age}");
    }
    service.stop().await?;
    other.stop().await
}

#[tokio::test]
async fn rules_dashboards_and_table_name_only_what_is_there() -> Result<()> {
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database).with("metrics.apps", APP)).await?;
    work(&service).await?;
    let metrics = scrape(&service).await?;
    let exposed = metrics.names();
    let recorded: BTreeSet<&str> = RULES
        .lines()
        .filter_map(|line| line.split_once("record: "))
        .map(|(_, name)| name)
        .collect();
    for text in DASHBOARDS.into_iter().chain([RULES]) {
        let place = text.lines().nth(1).unwrap_or_default();
        let named = names(text);
        ensure!(named.len() > 9, "{place}: hardly any metric is named");
        let strange: Vec<_> = named
            .into_iter()
            .filter(|name| !exposed.contains(name) && !recorded.contains(name))
            .collect();
        ensure!(strange.is_empty(), "{place}: no service exposes {strange:?}");
    }
    let explained = names(EXPLAINED);
    for (metric, kind) in &metrics.kinds {
        let name = match kind.as_str() {
            "counter" => format!("{metric}_total"),
            "info" => format!("{metric}_info"),
            _ => metric.clone(),
        };
        ensure!(explained.contains(name.as_str()), "{name} is not explained to operators");
    }
    service.stop().await
}

/// Returns the names in a text that look like metrics of Reprise.
fn names(text: &str) -> BTreeSet<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':');
    let words = text.split(|letter| !is_part(letter));
    words.filter(|word| word.contains("reprise_") || word.starts_with("process_")).collect()
}

#[test]
fn the_dashboards_are_json_and_every_panel_asks_for_something() -> Result<()> {
    for dashboard in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(dashboard)?;
        let panels = dashboard["panels"].as_array().context("there are no panels")?;
        let asks =
            |panel: &Value| panel["targets"][0]["expr"].is_string() || panel["type"] == "row";
        ensure!(panels.len() > 20 && panels.iter().all(asks));
        let ids: BTreeSet<_> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
        ensure!(ids.len() == panels.len(), "two panels have one id");
    }
    Ok(())
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that checks nothing says so")]
fn prometheus_accepts_the_rules_and_the_alerts_fire() -> Result<()> {
    for arguments in [["check", "rules", "rules.yml"], ["test", "rules", "rules.test.yml"]] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/prometheus");
        let check = Command::new("promtool").args(arguments).current_dir(folder).output();
        if check.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            eprintln!("skipped: promtool, of the Debian package prometheus, is not installed");
            return Ok(());
        }
        let check = check?;
        let said = [check.stdout, check.stderr].concat();
        ensure!(check.status.success(), "{}", String::from_utf8_lossy(&said));
    }
    Ok(())
}
