use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::Query;
use serde::Deserialize;

use super::arrival::Arrival;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;
use crate::wire::Wait;

/// Ends a request that takes too long, the arrival of its body included.
///
/// A read can simply be retried. A write may or may not have been applied when its deadline passes, unless
/// its body has not arrived.
pub(crate) async fn deadline(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let is_read = request.method().is_safe();
    let time = state.limits.request_timeout() + requested_wait(&request);
    let (body, request) = Arrival::watch(request);
    match tokio::time::timeout(time, next.run(request)).await {
        Ok(response) => response,
        Err(_) if body.is_awaited() => late(
            ProblemKind::BODY_TIMEOUT,
            "the body did not arrive in time; nothing was written; send the request again",
        ),
        Err(_) if is_read => late(
            ProblemKind::DEADLINE_EXCEEDED,
            "the response took too long; retry after Retry-After seconds",
        ),
        Err(_) => late(
            ProblemKind::OUTCOME_UNKNOWN,
            "the write may have been applied; repeat the request with the same ids to find out",
        ),
    }
}

/// The query parameter with which a caller asks to wait for a change.
#[derive(Deserialize)]
struct WaitQuery {
    wait: String,
}

/// Returns how long the caller asks to wait: the deadline starts after that.
fn requested_wait(request: &Request) -> Duration {
    let query = Query::<WaitQuery>::try_from_uri(request.uri());
    let wait = query.ok().and_then(|Query(query)| query.wait.parse::<Wait>().ok());
    wait.unwrap_or_default().0
}

fn late(kind: ProblemKind, detail: &str) -> Response {
    Problem::new(kind, detail).with_retry_after(Duration::from_secs(1)).into_response()
}
