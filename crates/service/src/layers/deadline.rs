use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::Query;
use serde::Deserialize;

use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;
use crate::wire::Wait;

/// Ends a request that takes too long, the arrival of its body included.
///
/// A read is told to come back; of a write nobody can say whether it has happened.
pub(crate) async fn deadline(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let is_read = request.method().is_safe();
    let time = state.limits.request_timeout() + asked_to_wait(&request);
    match tokio::time::timeout(time, next.run(request)).await {
        Ok(response) => response,
        Err(_) if is_read => late(ProblemKind::DEADLINE_EXCEEDED, "try again later"),
        Err(_) => late(ProblemKind::OUTCOME_UNKNOWN, "repeat the request with the same ids"),
    }
}

/// The parameter by which a caller asks to wait for something to happen.
#[derive(Deserialize)]
struct Waiting {
    wait: String,
}

/// Returns how long a caller asks to wait, which counts as no delay of the route.
fn asked_to_wait(request: &Request) -> Duration {
    let query = Query::<Waiting>::try_from_uri(request.uri());
    let wait = query.ok().and_then(|Query(query)| query.wait.parse::<Wait>().ok());
    wait.unwrap_or_default().0
}

fn late(kind: ProblemKind, detail: &str) -> Response {
    Problem::new(kind, detail).retry_after(Duration::from_secs(1)).into_response()
}
