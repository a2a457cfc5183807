use std::error::Error;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Details, FieldError, Problem};
use crate::history::UnsettledCallResponse;
use crate::request_id::RequestId;
use crate::wire::{HolderFields, InputRequestResponse};

/// A problem on its way out, before it has a body.
#[derive(Debug, Clone)]
pub(super) struct Pending(Arc<Details>);

impl From<Problem> for Pending {
    fn from(problem: Problem) -> Self {
        Self(Arc::from(problem.0))
    }
}

/// A problem as it stands on the wire.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemResponse {
    /// The kind of problem: a stable slug.
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    /// The kind of problem, in words.
    pub(super) title: &'static str,
    /// The HTTP status.
    pub(super) status: u16,
    /// What happened this time.
    pub(super) detail: String,
    /// The id under which the service has logged the request.
    pub(super) request_id: String,
    /// The parts of the request that were refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<FieldError>,
    /// With `event-conflict`: the id that was repeated with another body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) event_id: Option<String>,
    /// With `event-conflict`: the message that has that id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sequence: Option<u64>,
    /// With `insufficient-tokens`: what the wallet holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) balance: Option<i64>,
    /// With `insufficient-tokens`: what was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) amount: Option<i64>,
    /// With `input-closed`: the request as it stands, with the answer that was first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_request: Option<Box<InputRequestResponse>>,
    /// With `busy`: who carries the chat on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) holder: Option<Box<HolderFields>>,
    /// With `unsettled-tool-calls`: the calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unsettled_calls: Vec<UnsettledCallResponse>,
}

/// Writes the body of every problem that comes out of the routes.
pub(crate) async fn respond(request_id: RequestId, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let Some(Pending(details)) = response.extensions_mut().remove() else {
        return response;
    };
    log(&details);
    response.headers_mut().extend(headers(&details));
    *response.body_mut() = body(&details, request_id.as_str());
    response
}

fn body(details: &Details, request_id: &str) -> Body {
    let conflict = details.conflict.as_ref();
    let problem = ProblemResponse {
        kind: details.kind.slug,
        title: details.kind.title,
        status: details.kind.status.as_u16(),
        detail: details.detail.clone(),
        request_id: request_id.to_owned(),
        errors: details.errors.clone(),
        event_id: conflict.map(|conflict| conflict.event_id.to_string()),
        sequence: conflict.map(|conflict| conflict.sequence),
        balance: details.shortfall.as_ref().map(|shortfall| shortfall.balance),
        amount: details.shortfall.as_ref().map(|shortfall| shortfall.amount),
        input_request: details.input_request.clone(),
        holder: details.holder.clone(),
        unsettled_calls: details.unsettled.clone(),
    };
    serde_json::to_vec(&problem).map_or_else(|_| Body::empty(), Body::from)
}

fn headers(details: &Details) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let problem_json = HeaderValue::from_static("application/problem+json");
    headers.insert(CONTENT_TYPE, problem_json);
    if details.kind.status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(wait) = details.retry_after {
        let rounded_up = wait + Duration::from_millis(999);
        headers.insert(RETRY_AFTER, HeaderValue::from(rounded_up.as_secs()));
    }
    headers
}

/// Logs what lies behind a failure of ours, once, with everything that led to it.
pub(super) fn log(details: &Details) {
    let Some(error) = &details.source else {
        return;
    };
    tracing::error!(problem = details.kind.slug, error = chain(&**error), "request failed");
}

/// Logs why an answer ends before its end; the caller sees no more than that it does.
pub(crate) fn broke_off(error: &(dyn Error + 'static), request_id: &RequestId) {
    tracing::error!(request_id = request_id.as_str(), error = chain(error), "answer broken off");
}

/// Returns an error and everything that led to it.
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = iter::successors(Some(error), |&error| error.source());
    let causes = causes.map(ToString::to_string);
    causes.collect::<Vec<_>>().join(": ")
}
