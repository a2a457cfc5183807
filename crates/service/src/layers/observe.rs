use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use records::{Ids as _, Uuid7Ids};
use tracing::Instrument as _;

use crate::metrics::Metrics;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request, in its answer and in everything logged about it.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(HeaderValue);

impl RequestId {
    /// Takes the id the caller sent if it is 1 to 64 of `A-Z a-z 0-9 _ -`, or mints one.
    fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(X_REQUEST_ID).filter(|id| is_request_id(id));
        let minted = || HeaderValue::try_from(Uuid7Ids.mint("req_"));
        match given {
            Some(id) => Self(id.clone()),
            None => Self(minted().unwrap_or(HeaderValue::from_static("unknown"))),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

fn is_request_id(id: &HeaderValue) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&id.len()) && id.as_bytes().iter().all(is_allowed)
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let known = parts.extensions.get().cloned();
        Ok(known.unwrap_or_else(|| Self::of(&parts.headers)))
    }
}

/// Gives the request its id, measures it, and logs one line about it when it is answered.
///
/// The line names the route, never the path: ids and what somebody put in their place stay out of
/// the log, as do headers and bodies.
pub(crate) async fn observe(
    State(metrics): State<Arc<Metrics>>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = RequestId::of(request.headers());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let in_flight = metrics.requests.begin(&method, route.clone(), request.uri().path());
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    request.extensions_mut().insert(id.clone());

    let span = tracing::info_span!("request", request_id = id.as_str());
    let mut response = next.run(request).instrument(span).await;
    in_flight.end(response.status());

    response.headers_mut().insert(X_REQUEST_ID, id.0.clone());
    tracing::info!(
        request_id = id.as_str(),
        method = method.as_str(),
        route,
        status = response.status().as_u16(),
        latency_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        "request answered"
    );
    response
}
