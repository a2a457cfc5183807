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

use super::kind::ProblemCode;
use super::{Details, FieldError, Problem};
use crate::adapters;
use crate::request_id::RequestId;
use crate::wire::{HolderFields, InputRequestResponse, UnsettledCallResponse};

/// A problem in a response that has no body yet.
#[derive(Debug, Clone)]
pub(super) struct PendingProblem(Arc<Problem>);

impl From<Problem> for PendingProblem {
    fn from(problem: Problem) -> Self {
        Self(Arc::new(problem))
    }
}

/// A problem document (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemResponse {
    /// The kind of problem: the address of a page about it, relative to that of the service.
    #[serde(rename = "type")]
    #[schema(example = "/problems/event-conflict")]
    pub(super) kind: String,
    /// The kind of problem: the last part of `type`, which never changes.
    #[schema(value_type = ProblemCode)]
    pub(super) code: &'static str,
    /// The kind of problem as a phrase. Match on `code`, never on this.
    pub(super) title: &'static str,
    /// The HTTP status.
    pub(super) status: u16,
    /// What was wrong with this request, and what to do.
    pub(super) detail: String,
    /// The id of the HTTP request in the log of the service, as in the header `x-request-id`.
    pub(super) http_request_id: String,
    /// The parts of the request that were refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<FieldError>,
    /// With `event-conflict`: the id that was repeated with another body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) event_id: Option<String>,
    /// With `event-conflict`: the message that has that id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sequence: Option<u64>,
    /// With `sequence-conflict`: the number of messages that the chat has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_sequence: Option<u64>,
    /// With `insufficient-tokens`: the balance of the wallet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) balance: Option<i64>,
    /// With `insufficient-tokens`: the requested amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) amount: Option<i64>,
    /// With `input-closed`: the input request in its current state, with the answer that closed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_request: Option<Box<InputRequestResponse>>,
    /// With `busy`: the holder of the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) holder: Option<Box<HolderFields>>,
    /// With `unsettled-tool-calls`: the calls without results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unsettled_calls: Vec<UnsettledCallResponse>,
}

/// Writes the body of every problem that a route returns, and logs its cause.
pub(crate) async fn respond(request_id: RequestId, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let foreign = adapters::problem_writer(path).map(|write| (write, path.to_owned()));
    let mut response = next.run(request).await;
    let Some(PendingProblem(problem)) = response.extensions_mut().remove() else {
        return response;
    };
    let details = &problem.0;
    log(details);
    response.headers_mut().extend(headers(details));
    if let Some((write, path)) = foreign {
        let (status, body) = write(&problem, &path);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *response.status_mut() = status;
        *response.body_mut() = body.to_string().into();
    } else {
        *response.body_mut() = body(details, request_id.as_str());
    }
    response
}

fn body(details: &Details, request_id: &str) -> Body {
    let conflict = details.conflict.as_ref();
    let problem = ProblemResponse {
        kind: details.kind.uri(),
        code: details.kind.code,
        title: details.kind.title,
        status: details.kind.status.as_u16(),
        detail: details.detail.clone(),
        http_request_id: request_id.to_owned(),
        errors: details.errors.clone(),
        event_id: conflict.map(|conflict| conflict.event_id.to_string()),
        sequence: conflict.map(|conflict| conflict.sequence),
        last_sequence: details.last_sequence,
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

/// Logs the cause of a failure of the service, once, with its whole chain of sources.
pub(super) fn log(details: &Details) {
    let Some(error) = &details.source else {
        return;
    };
    tracing::error!(problem = details.kind.code, error = chain(&**error), "request failed");
}

/// Logs why a response was aborted; the caller sees only that the connection closes.
pub(crate) fn log_aborted_response(error: &(dyn Error + 'static), request_id: &RequestId) {
    tracing::error!(
        http_request_id = request_id.as_str(),
        error = chain(error),
        "response aborted"
    );
}

/// Returns an error with its chain of sources, as one line.
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = iter::successors(Some(error), |&error| error.source());
    let causes = causes.map(ToString::to_string);
    causes.collect::<Vec<_>>().join(": ")
}
