use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::time::Duration;

use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// Ends a request that takes too long, the arrival of its body included.
///
/// A read is told to come back; of a write nobody can say whether it has happened.
pub(crate) async fn deadline(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let is_read = request.method().is_safe();
    match tokio::time::timeout(state.limits.request_timeout(), next.run(request)).await {
        Ok(response) => response,
        Err(_) if is_read => late(ProblemKind::DEADLINE_EXCEEDED, "try again later"),
        Err(_) => late(ProblemKind::OUTCOME_UNKNOWN, "repeat the request with the same ids"),
    }
}

fn late(kind: ProblemKind, detail: &str) -> Response {
    Problem::new(kind, detail).retry_after(Duration::from_secs(1)).into_response()
}
