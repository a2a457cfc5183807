use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use records::Permission;

use super::identity::identified;
use crate::problem::Problem;
use crate::state::AppState;

/// A caller that may read the metrics: any caller if they are public, otherwise the roles `service` and
/// `operator`.
#[derive(Debug)]
pub(crate) struct MetricsReader;

impl FromRequestParts<AppState> for MetricsReader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        if !state.metrics.is_public {
            identified(parts, state).await?.require(Permission::Observe)?;
        }
        Ok(Self)
    }
}
