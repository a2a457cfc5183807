//! The part of a request in a trace: the trace that its caller has begun, its span, and the trace that it hands on.
//!
//! The program that runs the service decides whether anything takes these spans. If nothing does, none is created.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::propagation::{Extractor, Injector};
use opentelemetry::trace::{TraceContextExt as _, TraceId};
use opentelemetry::{Context, KeyValue, global};
use persistence::traces::TARGET;
use records::AppId;
use tracing::{Span, field};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// The attribute of a span with the app.
const APP: &str = "reprise.app_id";

/// The span of a request, and the trace that it is part of.
pub(crate) struct RequestTrace {
    pub(crate) span: Span,
    /// `None` if the request is not traced.
    pub(crate) trace_id: Option<TraceId>,
}

impl RequestTrace {
    /// Begins the span of a request in the trace that `traceparent` names, or in a new one.
    pub(crate) fn begin(method: &'static str, route: &str, headers: &HeaderMap) -> Self {
        let span = tracing::info_span!(
            target: TARGET,
            "request",
            otel.name = format!("{method} {route}"),
            otel.kind = "server",
            http.request.method = method,
            http.route = route,
            http.response.status_code = field::Empty,
            otel.status_code = field::Empty,
        );
        let parent = global::get_text_map_propagator(|it| it.extract(&Headers(headers)));
        let given = parent.span().span_context().trace_id();
        if given != TraceId::INVALID {
            // Fails if nothing exports the span.
            let _ = span.set_parent(parent);
        }
        let own = span.context().span().span_context().trace_id();
        let trace_id = [own, given].into_iter().find(|id| *id != TraceId::INVALID);
        Self { span, trace_id }
    }

    /// Records the status of the response.
    pub(crate) fn end(self, status: u16) {
        self.span.record("http.response.status_code", status);
        if status >= 500 {
            self.span.record("otel.status_code", "ERROR");
        }
    }
}

/// Adds the app to the log lines and the span of the current request: the caller may use it.
pub(crate) fn note_app(app_id: &AppId) {
    Span::current().record("app_id", field::display(app_id));
    Context::current().span().set_attribute(KeyValue::new(APP, app_id.to_string()));
}

/// Begins the span of a request to another server, and hands the trace on in its headers.
pub(crate) fn outgoing(method: &str, host: &str, headers: &mut HeaderMap) -> Span {
    let span = tracing::info_span!(
        target: TARGET,
        "outgoing request",
        otel.name = format!("{method} {host}"),
        otel.kind = "client",
        http.request.method = method,
        server.address = host,
    );
    let context = span.context();
    global::get_text_map_propagator(|it| it.inject_context(&context, &mut HeadersMut(headers)));
    span
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}

struct HeadersMut<'a>(&'a mut HeaderMap);

impl Injector for HeadersMut<'_> {
    fn set(&mut self, key: &str, value: String) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(key), HeaderValue::try_from(value)) {
            self.0.insert(name, value);
        }
    }
}
