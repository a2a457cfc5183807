use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use crate::extract::MetricsReader;
use crate::metrics::Metrics;
use crate::problem::{MetricsProblems, Problem, ProblemKind};

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the metrics of this process, for Prometheus.
///
/// With authentication only the roles `service` and `operator` may read them, unless the settings make them
/// public.
#[utoipa::path(
    get, path = "/metrics", tag = "metrics", operation_id = "get_metrics",
    security(("bearer_token" = ["observe"])),
    responses(
        (
            status = 200, description = "OpenMetrics text", body = String,
            content_type = "application/openmetrics-text",
        ),
        MetricsProblems,
    ),
)]
pub(crate) async fn get_metrics(
    _reader: MetricsReader,
    State(metrics): State<Arc<Metrics>>,
) -> Result<impl IntoResponse, Problem> {
    let text = metrics.text().map_err(|error| {
        Problem::new(ProblemKind::INTERNAL, "failed to write the metrics").caused_by(error)
    })?;
    Ok(([(CONTENT_TYPE, OPENMETRICS)], text))
}
