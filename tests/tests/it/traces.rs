//! Spans, as a collector receives them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use reqwest::Method;
use serde_json::json;
use tests::client::{APP, refusal};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;
use tokio::net::TcpListener;

const SAMPLED: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const NOT_SAMPLED: &str = "4bf92f3577b34da6a3ce929d0e0e4737";
const PARENT: &str = "00f067aa0ba902b7";
/// What no span may have: a text, and the name of a person.
const TEXT: &str = "t0ken-of-a-text";
const PERSON: &str = "t0ken-of-a-person";

type Received = Arc<Mutex<Vec<Bytes>>>;

/// A collector that keeps what it receives.
async fn collector() -> Result<(String, Received)> {
    collector_at(0).await
}

async fn collector_at(port: u16) -> Result<(String, Received)> {
    async fn receive(State(received): State<Received>, body: Bytes) {
        received.lock().unwrap_or_else(PoisonError::into_inner).push(body);
    }
    let received = Received::default();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let url = format!("http://{}/v1/traces", listener.local_addr()?);
    let app = Router::new().route("/v1/traces", post(receive)).with_state(Arc::clone(&received));
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok((url, received))
}

fn spans(received: &Received) -> Result<Vec<Span>> {
    let bodies = received.lock().unwrap_or_else(PoisonError::into_inner);
    let mut spans = Vec::new();
    for body in bodies.iter() {
        let request = ExportTraceServiceRequest::decode(body.clone())?;
        let scopes = request.resource_spans.into_iter().flat_map(|it| it.scope_spans);
        spans.extend(scopes.flat_map(|scope| scope.spans));
    }
    Ok(spans)
}

fn attributes(span: &Span) -> HashMap<&str, String> {
    let text = |value: &Attribute| match value {
        Attribute::StringValue(text) => text.clone(),
        Attribute::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let values = span.attributes.iter().filter_map(|attribute| {
        Some((attribute.key.as_str(), text(attribute.value.as_ref()?.value.as_ref()?)))
    });
    values.collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn settings(database: &Database, endpoint: &str) -> Settings {
    Settings::of(database)
        .with("traces.endpoint", endpoint)
        .with("traces.sample_ratio", 0)
        .with("log.filter", "info")
}

/// Creates a chat, appends to it and records a call of a model.
async fn work(service: &Service, chat_id: &str, traceparent: &str) -> Result<()> {
    let client = service.client()?.with_header("traceparent", traceparent)?;
    let new = json!({
        "chat_id": chat_id, "workflow_name": "Support", "user_id": PERSON, "title": TEXT,
    });
    client.call(Method::POST, &format!("/api/chats/{APP}"), Some(&new)).await?;
    let chat = client.chat(chat_id);
    chat.append(&[json!({ "role": "user", "content": TEXT, "name": PERSON })]).await?;
    let call = json!({
        "call_id": "call_1", "agent": "planner", "provider": "openai", "model": "gpt-4o-2024-08-06",
        "requested_model": "gpt-4o", "prompt_tokens": 12, "completion_tokens": 3, "cost_usd": "0.000060",
        "duration_ms": 1500, "called_at": "2026-01-02T03:04:05Z",
    });
    // The second time it is a repeat, and no other call.
    for _ in 0..2 {
        chat.post("calls", &json!({ "calls": [call] })).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_request_is_traced_down_to_its_commands_without_what_was_said() -> Result<()> {
    let (database, (endpoint, received)) = (Database::create().await?, collector().await?);
    let service = Service::start(&settings(&database, &endpoint)).await?;
    work(&service, "traced", &format!("00-{SAMPLED}-{PARENT}-01")).await?;
    work(&service, "untraced", &format!("00-{NOT_SAMPLED}-{PARENT}-00")).await?;
    let twice =
        service.client()?.with_header("traceparent", &format!("00-{SAMPLED}-{PARENT}-01"))?;
    let taken = json!({ "chat_id": "traced", "workflow_name": TEXT.replace('-', "_") });
    let taken = twice.call(Method::POST, &format!("/api/chats/{APP}"), Some(&taken)).await;
    assert_eq!(refusal(taken)?.status, 409);
    let log = service.logged()?;
    service.stop().await?;

    let spans = spans(&received)?;
    ensure!(!spans.is_empty(), "nothing was exported");
    let names: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
    assert!(spans.iter().all(|span| hex(&span.trace_id) == SAMPLED), "{names:?}");
    let span_of = |name: &str| {
        let found = spans.iter().find(|span| span.name == name);
        found.with_context(|| format!("{name} is not in {names:?}"))
    };
    let by_id: HashMap<_, _> = spans.iter().map(|span| (&span.span_id, span)).collect();
    let parent = |span: &Span| by_id.get(&span.parent_span_id).map(|span| span.name.clone());

    let request = span_of("POST /api/chats/{app_id}/{chat_id}/messages")?;
    assert_eq!(hex(&request.parent_span_id), PARENT);
    let of_request = attributes(request);
    assert_eq!(of_request["http.response.status_code"], "201");
    assert_eq!(of_request["reprise.app_id"], APP);
    let append = span_of("append")?;
    assert_eq!(parent(append).as_deref(), Some("POST /api/chats/{app_id}/{chat_id}/messages"));
    assert_eq!(attributes(append)["gen_ai.conversation.id"], "traced");

    // Each command belongs to a call of the store, and so to its request.
    let commands = spans.iter().filter(|span| attributes(span).contains_key("db.command.name"));
    let mut of_append = Vec::new();
    for command in commands {
        let mut above = *by_id.get(&command.parent_span_id).context("a command has no parent")?;
        while attributes(above).contains_key("db.system.name") {
            above = *by_id.get(&above.parent_span_id).context("an operation has no parent")?;
        }
        if above.name == "append" {
            of_append.push(command.name.as_str());
        }
        assert!(!attributes(command).contains_key("db.query.text"));
    }
    assert!(!of_append.is_empty(), "no command of the append is in {names:?}");

    let calls: Vec<_> = spans.iter().filter(|span| span.name == "chat gpt-4o").collect();
    let [call] = calls[..] else { anyhow::bail!("not one call of a model: {names:?}") };
    let expected = [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "gpt-4o"),
        ("gen_ai.response.model", "gpt-4o-2024-08-06"),
        ("gen_ai.agent.name", "planner"),
        ("gen_ai.conversation.id", "traced"),
        ("gen_ai.usage.input_tokens", "12"),
        ("gen_ai.usage.output_tokens", "3"),
    ];
    let of_call = attributes(call);
    for (key, value) in expected {
        assert_eq!(of_call.get(key).map(String::as_str), Some(value), "{key}");
    }
    assert_eq!(call.end_time_unix_nano - call.start_time_unix_nano, 1_500_000_000);
    assert_eq!(call.start_time_unix_nano, 1_767_323_045_000_000_000);

    let bodies = received.lock().unwrap_or_else(PoisonError::into_inner);
    for hidden in [TEXT, PERSON, "t0ken_of_a_text"] {
        let has = |body: &Bytes| body.windows(hidden.len()).any(|part| part == hidden.as_bytes());
        assert!(!bodies.iter().any(has), "a span has {hidden}");
    }
    let line = log.lines().find(|line| line.contains("{chat_id}/messages")).context("no line")?;
    for part in [SAMPLED, APP, "traced"] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
    Ok(())
}

#[tokio::test]
async fn lines_of_the_log_name_the_trace_of_the_caller_without_any_export() -> Result<()> {
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database).with("log.filter", "info")).await?;
    work(&service, "logged", &format!("00-{SAMPLED}-{PARENT}-01")).await?;
    let log = service.logged()?;
    let lines: Vec<_> = log.lines().filter(|line| line.contains("request answered")).collect();
    let line = lines.iter().find(|line| line.contains("{chat_id}/calls")).context("no line")?;
    for part in [SAMPLED, "logged", APP] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
    assert!(!log.contains(PERSON) && !log.contains(TEXT));
    // A path that was not permitted is not in the log: it may hold anything.
    let foreign = service.client()?;
    let refused = foreign.call(Method::GET, "/api/chats/acme_corp/secret-place", None).await;
    assert_eq!(refusal(refused)?.status, 404);
    service.stop().await
}

#[tokio::test]
async fn a_collector_that_is_away_keeps_nothing_waiting() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database)
        .with("traces.endpoint", "http://127.0.0.1:1/v1/traces")
        .with("traces.sample_ratio", 1);
    let service = Service::start(&settings).await?;
    work(&service, "alone", "00-zz").await?;
    assert_eq!(service.client()?.chat("alone").messages().await?.len(), 1);
    service.stop().await
}

#[tokio::test]
async fn the_log_says_once_that_exports_fail_and_once_that_they_work_again() -> Result<()> {
    let database = Database::create().await?;
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.local_addr()?.port();
    let settings = settings(&database, &format!("http://127.0.0.1:{port}/v1/traces?key=canary"));
    let settings = settings.with("traces.sample_ratio", 1);
    // How long spans wait for others, in ms: it is no setting of this program.
    let settings = settings.with_variable("OTEL_BSP_SCHEDULE_DELAY", 100);
    let service = Service::start(&settings).await?;
    let client = service.client()?;
    let failed = "failed to export spans";
    until("a failed export", async || {
        client.call(Method::GET, "/api/chats/acme_corp", None).await?;
        Ok(service.logged()?.contains(failed).then_some(()))
    })
    .await?;
    let (_, received) = collector_at(port).await?;
    let log = until("the collector to get spans", async || {
        client.call(Method::GET, "/api/chats/acme_corp", None).await?;
        let log = service.logged()?;
        Ok(log.contains("spans are exported again").then_some(log))
    })
    .await?;
    ensure!(!spans(&received)?.is_empty(), "nothing was exported");
    let of_failures: Vec<_> = log.lines().filter(|line| line.contains(failed)).collect();
    ensure!(of_failures.len() == 1 && of_failures[0].contains("refused"), "{of_failures:?}");
    ensure!(!log.contains("canary"), "the address is in the log");
    let recovered = log.lines().find(|line| line.contains("exported again")).context("no line")?;
    let (_, lost) = recovered.split_once("lost=").context("no number")?;
    ensure!(lost.parse::<u64>()? > 0, "{recovered}");
    service.stop().await
}
