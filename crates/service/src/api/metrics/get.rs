use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use operation::operation;
use utoipa::PartialSchema as _;
use utoipa::openapi::Content;

use crate::extract::MetricsReader;
use crate::metrics::Metrics;
use crate::operation::{Description, Output};
use crate::problem::{Problem, ProblemKind};

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the metrics of this process, for Prometheus.
///
/// With authentication only the roles `service` and `operator` may read them, unless the settings make them
/// public.
#[operation(answers = "OpenMetrics text")]
pub(crate) async fn get_metrics(
    MetricsReader { certificate_expires_at }: MetricsReader,
    State(metrics): State<Arc<Metrics>>,
) -> Result<OpenMetrics, Problem> {
    metrics.note_certificate(certificate_expires_at);
    let text = metrics.text().await.map_err(|error| {
        Problem::new(ProblemKind::INTERNAL, "failed to write the metrics").caused_by(error)
    })?;
    Ok(OpenMetrics(text))
}

/// The text of the metrics.
#[derive(Debug)]
pub(crate) struct OpenMetrics(String);

impl IntoResponse for OpenMetrics {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, OPENMETRICS)], self.0).into_response()
    }
}

impl Output for OpenMetrics {
    fn describe(description: &mut Description) {
        let text = Content::new(Some(String::schema()));
        let response = description.answers(StatusCode::OK);
        response.content.insert("application/openmetrics-text".to_owned(), text.into());
    }
}
