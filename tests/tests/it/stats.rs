//! `reprise stats`, while services run and are killed.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use mongodb::bson::{RawDocumentBuf, doc};
use reqwest::Method;
use serde_json::{Value, json};
use tests::binary::{run, told};
use tests::client::Client;
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

const WRITERS: usize = 64;
const WORKFLOWS: usize = 20;
const CHATS: usize = 40;
/// The work of one writer: batches of calls, each batch in one request.
const BATCHES: usize = 79;
const CALLS: usize = 10;
/// The initial balance of each wallet.
const TOKENS: usize = 1_000_000;

#[tokio::test]
async fn calls_are_counted_once_each_while_services_are_killed() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database).with("wallets.debit_usage", true);
    let mut service = Service::start(&settings).await?;
    let (at, reached) = watch::channel(service.client()?);
    let client = service.client()?;
    let chats = try_join_all((0..CHATS).map(|n| chat_with_wallet(&client, n))).await?;

    let (progress, mut done) = watch::channel(0);
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(writer, chats.clone(), reached.clone(), progress.clone()));
    }
    for kill in 1..=3 {
        done.wait_for(|done| *done >= kill * WRITERS * BATCHES / 4).await?;
        service.kill().await?;
        service = Service::start(&settings).await?;
        at.send(service.client()?)?;
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }

    let calls = WRITERS * BATCHES * CALLS;
    let stats = service.client()?.call(Method::GET, "/api/stats/acme_corp", None).await?;
    assert_eq!(stats["usage"]["calls"], calls);
    assert_eq!(stats["usage"]["total_tokens"], 3 * calls);
    assert_eq!(stats["events"]["starts"], CHATS);
    let verified = run(&["stats", "verify"], &settings).await?;
    assert_eq!(told(&verified)?, "20 workflows verified, 0 differences\n");
    let verified = run(&["wallets", "verify"], &settings).await?;
    assert_eq!(told(&verified)?, "40 wallets verified, 0 differences\n");
    let checked = run(&["check", "--deep"], &settings).await?;
    assert!(told(&checked)?.contains("all that is stored of 40 chats"));
    let client = service.client()?;
    let left = (0..CHATS).map(async |n| {
        let wallet = client.call(Method::GET, &wallet_of(n), None).await?;
        anyhow::Ok(wallet["balance"].as_u64().unwrap_or(0))
    });
    let left: u64 = try_join_all(left).await?.into_iter().sum();
    assert_eq!(left, (CHATS * TOKENS - 3 * calls) as u64);
    service.stop().await
}

/// Creates a chat, and the wallet of its user.
async fn chat_with_wallet(client: &Client, n: usize) -> Result<String> {
    let wallet = json!({ "initial_balance": TOKENS });
    client.call(Method::POST, &format!("{}/ensure", wallet_of(n)), Some(&wallet)).await?;
    let workflow_name = format!("workflow {}", n % WORKFLOWS);
    let new = json!({ "workflow_name": workflow_name, "user_id": format!("user {n}") });
    let chat = client.call(Method::POST, "/api/chats/acme_corp", Some(&new)).await?;
    Ok(chat["chat_id"].as_str().context("the chat has no id")?.to_owned())
}

fn wallet_of(n: usize) -> String {
    format!("/api/wallets/acme_corp/user%20{n}")
}

/// Records calls that are paid for, with retries.
async fn write(
    writer: usize,
    chats: Vec<String>,
    reached: watch::Receiver<Client>,
    progress: watch::Sender<usize>,
) -> Result<()> {
    for batch in 0..BATCHES {
        let call = |n| {
            json!({
                "call_id": format!("call_{writer}_{batch}_{n}"), "agent": format!("agent {}", n % 4),
                "requested_model": format!("model {}", n % 3), "prompt_tokens": 2,
                "completion_tokens": 1, "cost_micros_usd": 7, "duration_ms": 100 * n,
            })
        };
        let calls = json!({ "calls": (0..CALLS).map(call).collect::<Vec<_>>() });
        let path = format!("/api/chats/acme_corp/{}/calls", chats[(writer + batch) % CHATS]);
        post(&reached, &path, &calls).await?;
        progress.send_modify(|done| *done += 1);
    }
    Ok(())
}

async fn post(reached: &watch::Receiver<Client>, path: &str, body: &Value) -> Result<()> {
    for _ in 0..600 {
        let client = reached.borrow().clone();
        if client.call(Method::POST, path, Some(body)).await.is_ok() {
            return Ok(());
        }
        sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("{path} was refused for a minute")
}

#[tokio::test]
async fn verify_finds_and_rebuild_mends_what_is_off() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let service = Service::start(&settings).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    let call = json!({ "agent": "planner", "prompt_tokens": 12, "cost_usd": "0.5" });
    chat.post("calls", &call).await?;
    let rollups = database.raw().collection::<RawDocumentBuf>("workflow_stats");
    let planner = doc! { "_id.kind": "agent", "_id.hour": null };
    rollups.update_one(planner, doc! { "$inc": { "calls": 1_i64 } }).await?;

    let difference = "acme_corp Generator, agent planner: calls is 2, not 1\n";
    let found = run(&["stats", "verify", "--app", "acme_corp"], &settings).await?;
    assert_eq!(told(&found)?, format!("{difference}1 workflows verified, 1 differences\n"));
    assert_eq!(found.status.code(), Some(1));
    let mended = run(&["stats", "rebuild"], &settings).await?;
    assert_eq!(told(&mended)?, format!("{difference}1 workflows verified, 1 differences mended\n"));
    assert!(mended.status.success());
    let again = run(&["stats", "rebuild"], &settings).await?;
    assert_eq!(told(&again)?, "1 workflows verified, 0 differences mended\n");
    run(&["apps", "register", "other"], &settings).await?;
    let elsewhere = run(&["stats", "verify", "--app", "other"], &settings).await?;
    assert_eq!(told(&elsewhere)?, "0 workflows verified, 0 differences\n");
    service.stop().await
}

#[tokio::test]
async fn show_prints_tables_and_sparklines() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let service = Service::start(&settings).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    let call = json!({
        "agent": "planner", "requested_model": "large", "prompt_tokens": 12, "cost_usd": "0.5",
        "duration_ms": 1_500,
    });
    chat.post("calls", &call).await?;
    chat.turn("pause").await?;
    let app = told(&run(&["stats", "show", "acme_corp"], &settings).await?)?;
    let line = app.lines().find(|line| line.contains("Generator"));
    ensure!(line.is_some_and(|line| line.contains("$0.500000") && line.ends_with('█')), app);
    let workflow = told(&run(&["stats", "show", "acme_corp", "Generator"], &settings).await?)?;
    for part in ["planner", "large", "duration of a call", "1.5 s"] {
        ensure!(workflow.contains(part), "{part} is missing in\n{workflow}");
    }
    service.stop().await
}

#[tokio::test]
async fn users_prints_who_costs_what() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let service = Service::start(&settings).await?;
    let client = service.client()?;
    for (chat_id, user_id, cost) in
        [("c1", "ada", "0.5"), ("c2", "bob", "2"), ("c3", "ada", "0.25")]
    {
        let chat = json!({ "chat_id": chat_id, "workflow_name": "Generator", "user_id": user_id });
        client.call(Method::POST, "/api/chats/acme_corp", Some(&chat)).await?;
        let call = json!({ "prompt_tokens": 12, "cost_usd": cost });
        let path = format!("/api/chats/acme_corp/{chat_id}/calls");
        client.call(Method::POST, &path, Some(&call)).await?;
    }
    let users = ["stats", "users", "acme_corp"];
    let shown = async |more: &[&str]| told(&run(&[&users[..], more].concat(), &settings).await?);
    let lines = |table: &str| -> Vec<String> {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        table.lines().map(words).collect()
    };
    let header = "user calls tokens cost";
    let (ada, bob) = ("ada 2 24 $0.750000", "bob 1 12 $2.000000");
    assert_eq!(lines(&shown(&[]).await?), [header, bob, ada]);
    assert_eq!(lines(&shown(&["--order-by", "calls"]).await?), [header, ada, bob]);
    assert_eq!(lines(&shown(&["--to", "2020-01-01T00:00:00Z"]).await?), [header]);
    let of_ada = ["workflow calls tokens cost", "Generator 2 24 $0.750000"];
    assert_eq!(lines(&shown(&["ada"]).await?), [header, ada, "", of_ada[0], of_ada[1]]);
    let page: Value = serde_json::from_str(&shown(&["--limit", "1", "--json"]).await?)?;
    assert_eq!(page["users"][0]["user_id"], "bob");
    ensure!(page["next_cursor"].is_string(), "{page}");
    let verified = run(&["stats", "verify"], &settings).await?;
    assert_eq!(told(&verified)?, "1 workflows verified, 0 differences\n");
    service.stop().await
}
