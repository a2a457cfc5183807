use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// Somebody who may read the metrics: everybody where they are public, otherwise who runs the
/// service or a program of theirs.
#[derive(Debug)]
pub(crate) struct MetricsReader;

impl FromRequestParts<AppState> for MetricsReader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        if state.metrics.is_public || state.authenticator.identify(&parts.headers)?.may_operate() {
            return Ok(Self);
        }
        let detail = "the metrics are for the roles service and operator";
        Err(Problem::new(ProblemKind::FORBIDDEN_ROLE, detail))
    }
}
