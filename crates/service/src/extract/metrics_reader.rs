use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use records::Permission;

use super::identity::identified;
use crate::operation::{Description, Input};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;
use crate::tls::Certificate;

/// A caller that may read the metrics: any caller if they are public, otherwise the roles `service` and
/// `operator`.
#[derive(Debug)]
pub(crate) struct MetricsReader {
    /// When the certificate of the connection expires, in seconds since 1970; `None` without TLS.
    pub(crate) certificate_expires_at: Option<i64>,
}

impl FromRequestParts<AppState> for MetricsReader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        if !state.metrics.is_public {
            identified(parts, state).await?.require(Permission::Observe)?;
        }
        let certificate = parts.extensions.get::<Certificate>();
        Ok(Self { certificate_expires_at: certificate.and_then(Certificate::expires_at) })
    }
}

impl Input for MetricsReader {
    fn describe(description: &mut Description) {
        description.permission(Permission::Observe);
        description.problems(&[ProblemKind::FORBIDDEN_ROLE]);
    }
}
