//! Spans of traces: what a call of the store and a recorded call of a model look like in one.
//!
//! A span names the app, the chat and numbers. It has no text of a conversation, and no person.

use std::time::{Duration, SystemTime};

use opentelemetry::trace::{Span as _, SpanBuilder, SpanKind, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue, global};
use records::{AppId, ChatId, ProviderCall};
use tracing::{Span, field};

/// The target of spans that are exported and not logged.
pub const TARGET: &str = "traces";
/// The name under which spans are created that `tracing` cannot create, because they are of the past.
const SCOPE: &str = "reprise";

/// Returns the span of a call of the store. The log span around it learns the chat: it was permitted to get this far.
pub(crate) fn store_call(call: &'static str, chat_id: Option<&ChatId>) -> Span {
    let chat_id = chat_id.map(field::display);
    if let Some(chat_id) = &chat_id {
        Span::current().record("chat_id", chat_id);
    }
    tracing::info_span!(
        target: TARGET,
        "store call",
        otel.name = call,
        otel.status_code = field::Empty,
        gen_ai.conversation.id = chat_id,
    )
}

/// Marks the span of a call that has failed. What failed is in the log: the words of an error may repeat a value.
pub(crate) fn failed(span: &Span) {
    span.record("otel.status_code", "ERROR");
}

/// Reports recorded calls of models as spans in the current trace, each at the time at which it was made.
pub(crate) fn recorded<'a>(
    app_id: &AppId,
    chat_id: &ChatId,
    calls: impl IntoIterator<Item = &'a ProviderCall>,
) {
    if !Context::current().span().span_context().is_sampled() {
        return;
    }
    let tracer = global::tracer(SCOPE);
    for call in calls {
        let began_at = SystemTime::from(call.called_at);
        let span = SpanBuilder::from_name(name_of(call))
            .with_kind(SpanKind::Client)
            .with_start_time(began_at)
            .with_attributes(attributes(app_id, chat_id, call));
        let mut span = tracer.build(span);
        span.end_with_timestamp(began_at + Duration::from_millis(call.duration_ms));
    }
}

fn name_of(call: &ProviderCall) -> String {
    let model = call.requested.model.as_ref().or(call.used.model.as_ref());
    model.map_or_else(|| "chat".to_owned(), |model| format!("chat {model}"))
}

/// The attributes of the semantic conventions for generative AI.
fn attributes(app_id: &AppId, chat_id: &ChatId, call: &ProviderCall) -> Vec<KeyValue> {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let texts = [
        ("gen_ai.provider.name", call.used.provider.as_ref().or(call.requested.provider.as_ref())),
        ("gen_ai.request.model", call.requested.model.as_ref()),
        ("gen_ai.response.model", call.used.model.as_ref()),
        ("gen_ai.agent.name", call.agent.as_ref()),
        ("gen_ai.response.id", call.request_id.as_ref()),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| Some((key, text?.clone())));
    let mut attributes: Vec<_> = texts.map(|(key, text)| KeyValue::new(key, text)).collect();
    attributes.extend([
        KeyValue::new("gen_ai.operation.name", "chat"),
        KeyValue::new("gen_ai.conversation.id", chat_id.to_string()),
        KeyValue::new("gen_ai.usage.input_tokens", number(call.tokens.prompt)),
        KeyValue::new("gen_ai.usage.output_tokens", number(call.tokens.completion)),
        KeyValue::new("reprise.app_id", app_id.to_string()),
        KeyValue::new("reprise.call_id", call.call_id.to_string()),
        KeyValue::new("reprise.cost_usd", call.cost.to_string()),
    ]);
    attributes
}
