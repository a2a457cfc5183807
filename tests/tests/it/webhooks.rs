//! The receiver of webhooks is told of every chat that has ended, though it refuses some requests and services are killed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mongodb::bson::{DateTime, Document, RawDocumentBuf, doc};
use ring::hmac;
use serde_json::{Value, json};
use tests::client::{CallError, Client};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::metrics::scrape;

const CHATS: usize = 60;
const KEY: [u8; 32] = [7; 32];

/// What the receiver was sent.
#[derive(Default)]
struct Inbox {
    requests: usize,
    /// The bodies that it has taken, by the ids of their events.
    taken: BTreeMap<String, Vec<Bytes>>,
    faults: Vec<String>,
}

type Shared = Arc<Mutex<Inbox>>;

fn held(inbox: &Shared) -> std::sync::MutexGuard<'_, Inbox> {
    inbox.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks a request as the libraries of Standard Webhooks do, and returns the id of its event.
fn verified(headers: &HeaderMap, body: &[u8]) -> Result<String> {
    let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).context("missing");
    let (id, timestamp) = (header("webhook-id")?, header("webhook-timestamp")?);
    let signature = header("webhook-signature")?.strip_prefix("v1,").context("no version 1")?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, &KEY);
    let signed = [format!("{id}.{timestamp}.").as_bytes(), body].concat();
    hmac::verify(&key, &signed, &STANDARD.decode(signature)?).ok().context("a wrong signature")?;
    Ok(id.to_owned())
}

/// Takes two of three requests, with more bytes than the service reads.
async fn receive(
    State(inbox): State<Shared>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Vec<u8>) {
    let mut inbox = held(&inbox);
    inbox.requests += 1;
    match verified(&headers, &body) {
        Ok(_) if inbox.requests.is_multiple_of(3) => (StatusCode::SERVICE_UNAVAILABLE, Vec::new()),
        Ok(id) => {
            inbox.taken.entry(id).or_default().push(body);
            (StatusCode::OK, vec![b'.'; 300_000])
        }
        Err(fault) => {
            inbox.faults.push(fault.to_string());
            (StatusCode::BAD_REQUEST, Vec::new())
        }
    }
}

async fn receiver() -> Result<(String, Shared)> {
    let inbox = Shared::default();
    let router = Router::new().route("/hook", post(receive)).with_state(Arc::clone(&inbox));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/hook", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok((url, inbox))
}

fn told_of(settings: Settings, url: &str) -> Settings {
    let secret = format!("whsec_{}", STANDARD.encode(KEY));
    settings.with("webhooks.url", url).with("webhooks.secret", secret).with("webhooks.retry_ms", 50)
}

/// Repeats a call until a service has answered it.
async fn insist<T>(
    client: &mut watch::Receiver<Client>,
    call: impl AsyncFn(Client) -> Result<T, CallError>,
) -> Result<T> {
    loop {
        let current = client.borrow_and_update().clone();
        match call(current).await {
            Ok(answer) => return Ok(answer),
            Err(error) if error.may_pass() => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Runs a chat to its end, and returns its id.
async fn run_chat(client: &mut watch::Receiver<Client>, n: usize) -> Result<String> {
    let chat_id = format!("chat_{n}");
    let new = json!({ "chat_id": chat_id, "workflow_name": "Generator", "user_id": "alice" });
    let create = async |client: Client| {
        client.call(reqwest::Method::POST, "/api/chats/acme_corp", Some(&new)).await
    };
    insist(client, create).await?;
    let message = json!({ "event_id": "e", "role": "user", "content": "a secret" });
    let id = chat_id.as_str();
    insist(client, async |client: Client| client.chat(id).post("messages", &message).await).await?;
    let verb = if n.is_multiple_of(5) { "fail" } else { "complete" };
    insist(client, async |client: Client| client.chat(id).turn(verb).await).await?;
    Ok(chat_id)
}

#[tokio::test]
async fn every_ended_chat_is_told_though_services_are_killed() -> Result<()> {
    let database = Database::create().await?;
    let (url, inbox) = receiver().await?;
    let settings = told_of(Settings::of(&database), &url);
    let mut service = Service::start(&settings).await?;
    let (at, mut reached) = watch::channel(service.client()?);
    let (progress, mut done) = watch::channel(0);
    let running = async {
        let mut ended = BTreeSet::new();
        for n in 0..CHATS {
            ended.insert(run_chat(&mut reached, n).await?);
            progress.send_replace(n + 1);
        }
        anyhow::Ok(ended)
    };
    let killing = async {
        for kill in 1..=3 {
            done.wait_for(|done| *done >= kill * CHATS / 4).await?;
            service.kill().await?;
            service = Service::start(&settings).await?;
            at.send(service.client()?)?;
        }
        anyhow::Ok(service)
    };
    let (ended, service) = tokio::try_join!(running, killing)?;
    assert_eq!(ended.len(), CHATS);

    let told = || -> Result<BTreeSet<String>> {
        let inbox = held(&inbox);
        let bodies = inbox.taken.values().flatten().map(|body| {
            let body: Value = serde_json::from_slice(body)?;
            Ok(body["data"]["chat_id"].as_str().context("no chat")?.to_owned())
        });
        bodies.collect()
    };
    until("every chat to be told of", async || Ok((told()? == ended).then_some(()))).await?;
    until("the outbox to be empty", async || {
        let left = database.raw().collection::<RawDocumentBuf>("webhook_events");
        Ok((left.count_documents(doc! {}).await? == 0).then_some(()))
    })
    .await?;
    service.stop().await?;

    let inbox = held(&inbox);
    assert_eq!(inbox.faults, Vec::<String>::new());
    assert!(inbox.requests > CHATS, "some requests were refused");
    assert_eq!(inbox.taken.len(), CHATS, "each chat has one event");
    for (id, bodies) in &inbox.taken {
        ensure!(bodies.iter().all(|body| *body == bodies[0]), "{id} has several bodies");
        let body: Value = serde_json::from_slice(&bodies[0])?;
        let data = &body["data"];
        let n: usize = data["chat_id"].as_str().context("no chat")?[5..].parse()?;
        let (kind, status) =
            if n.is_multiple_of(5) { ("chat.failed", 4) } else { ("chat.completed", 3) };
        assert_eq!((body["type"].as_str(), data["status"].as_i64()), (Some(kind), Some(status)));
        assert_eq!(data["last_sequence"], 1);
        let text = body.to_string();
        assert!(!text.contains("secret") && !text.contains("alice"), "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn without_a_receiver_no_event_is_kept() -> Result<()> {
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    chat.turn("complete").await?;
    let events = database.raw().collection::<RawDocumentBuf>("webhook_events");
    assert_eq!(events.count_documents(doc! {}).await?, 0);
    service.stop().await
}

#[tokio::test]
async fn a_receiver_that_is_away_is_told_later() -> Result<()> {
    let database = Database::create().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    drop(listener);
    let settings = told_of(Settings::of(&database), &format!("http://{address}/hook"));
    let service = Service::start(&settings).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    chat.turn("complete").await?;
    let events = database.raw().collection::<RawDocumentBuf>("webhook_events");
    until("an attempt that fails", async || {
        let tried = events.count_documents(doc! { "attempts": { "$gte": 2 } }).await?;
        Ok((tried == 1).then_some(()))
    })
    .await?;
    let inbox = Shared::default();
    let router = Router::new().route("/hook", post(receive)).with_state(Arc::clone(&inbox));
    let listener = TcpListener::bind(address).await?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    until("the event to be taken", async || Ok((held(&inbox).taken.len() == 1).then_some(())))
        .await?;
    service.stop().await
}

#[tokio::test]
async fn an_event_that_cannot_be_read_holds_up_no_other() -> Result<()> {
    let database = Database::create().await?;
    let (url, inbox) = receiver().await?;
    let service = Service::start(&told_of(Settings::of(&database), &url)).await?;
    // More of them than the service claims at a time.
    let events = database.raw().collection::<Document>("webhook_events");
    let unreadable = (0..40).map(|n| doc! { "_id": n, "due_at": DateTime::from_millis(n) });
    events.insert_many(unreadable).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    chat.turn("complete").await?;
    until("the event to be taken", async || Ok((held(&inbox).taken.len() == 1).then_some(())))
        .await?;
    let metrics = scrape(&service).await?;
    let labels = [("sweep", "webhook_events")];
    let failures = metrics.sum("reprise_store_sweep_failures_total", &labels);
    assert!((failures - 40.0).abs() < f64::EPSILON, "{failures}");
    let logged = service.logged()?.matches("an event cannot be read").count();
    assert_eq!(logged, 40);
    service.stop().await
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_refused() -> Result<()> {
    let database = Database::create().await?;
    let url = "http://127.0.0.1:1/";
    for (settings, named) in [
        (Settings::of(&database).with("webhooks.url", url), "webhooks.secret"),
        (told_of(Settings::of(&database), "http://ops.example.org/"), "webhooks.url"),
    ] {
        let output = tests::binary::run(&["serve"], &settings).await?;
        let said = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(named), "{said}");
    }
    Ok(())
}
