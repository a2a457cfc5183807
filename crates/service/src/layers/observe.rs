use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument as _, field};

use crate::metrics::Metrics;
use crate::request_id::{RequestId, X_REQUEST_ID};
use crate::traces::RequestTrace;

/// Gives the request its id, measures it, and logs one line when the response begins.
///
/// The line names the route, never the path: a path contains ids, or secrets that a caller has put in
/// their place. It names the app and the chat once the caller was permitted to use them. Headers and bodies are not logged either. A method that no route knows is `other`, because
/// a caller may invent one of any length.
pub(crate) async fn observe(
    State(metrics): State<Arc<Metrics>>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = RequestId::from_headers(request.headers());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let in_flight = metrics.requests.begin(request.method(), route.clone(), request.uri().path());
    let method = in_flight.method();
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    request.extensions_mut().insert(id.clone());

    let trace = RequestTrace::begin(method, route, request.headers());
    let span = tracing::info_span!(
        "request",
        http_request_id = id.as_str(),
        trace_id = trace.trace_id.map(field::display),
        app_id = field::Empty,
        chat_id = field::Empty,
    );
    let answered = next.run(request).instrument(span.clone()).instrument(trace.span.clone());
    let mut response = answered.await;
    in_flight.end(response.status());

    response.headers_mut().insert(X_REQUEST_ID, id.header());
    let status = response.status().as_u16();
    span.in_scope(|| {
        tracing::info!(
            http_request_id = id.as_str(),
            method,
            route,
            status,
            latency_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            "request answered"
        );
    });
    trace.end(status);
    response
}
