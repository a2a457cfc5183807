//! The form of every error response: problem details (RFC 9457).
//!
//! Every failure becomes a [`Problem`]. As a response it has no body yet: the `respond` layer adds the
//! id of the request, writes the body, and logs the causes that the caller must not see.

mod kind;
mod openapi;
mod pages;
mod respond;
mod store;

pub(crate) use kind::ProblemKind;
pub(crate) use openapi::{examples, problem_responses};
pub(crate) use pages::problem_pages;
pub(crate) use respond::{ProblemResponse, log_aborted_response, respond};

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use persistence::BoxError;
use records::{EventId, Location};
use resume::UnsettledCall;
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::{HolderFields, InputRequestResponse, UnsettledCallResponse};

/// A failure, as the caller is told of it.
#[derive(Debug, Clone)]
pub(crate) struct Problem(Box<Details>);

#[derive(Debug, Clone)]
struct Details {
    kind: ProblemKind,
    detail: String,
    errors: Vec<FieldError>,
    conflict: Option<Conflict>,
    last_sequence: Option<u64>,
    shortfall: Option<Shortfall>,
    input_request: Option<Box<InputRequestResponse>>,
    holder: Option<Box<HolderFields>>,
    unsettled: Vec<UnsettledCallResponse>,
    retry_after: Option<Duration>,
    /// Whether the caller has shown a token that was once valid.
    is_of_known_caller: bool,
    /// The cause, which is logged and never sent.
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// A part of the request that was refused.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct FieldError {
    /// JSON pointer (RFC 6901) into the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "/messages/0/role")]
    pointer: Option<Location>,
    /// Name of the path or query parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
    /// What is wrong with it, and the limit if there is one.
    detail: String,
}

/// Where in a request something was refused.
pub(crate) enum Place<'a> {
    /// A parameter of the path, the query or the headers.
    Parameter(&'a str),
    /// A part of the body, as a JSON pointer.
    Body(String),
}

impl FieldError {
    pub(crate) fn place(&self) -> Place<'_> {
        match (&self.parameter, &self.pointer) {
            (Some(name), _) => Place::Parameter(name),
            (None, pointer) => {
                Place::Body(pointer.as_ref().map(ToString::to_string).unwrap_or_default())
            }
        }
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the place and what is wrong with it, as one text.
    pub(crate) fn told(&self) -> String {
        let rule = without_kind(&self.detail);
        match self.place() {
            Place::Parameter(name) => format!("{name} {rule}"),
            Place::Body(pointer) => {
                format!("{} {rule}", pointer.trim_start_matches('/')).trim_start().to_owned()
            }
        }
    }
}

/// Returns what is wrong with a value without the kind of id that it should be: the place names the field already, and may be
/// called otherwise.
pub(crate) fn without_kind(detail: &str) -> &str {
    let is_kind = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    match detail.split_once(' ') {
        Some((kind, rule)) if is_kind(kind) && rule.starts_with("must be 1 to ") => rule,
        _ => detail,
    }
}

/// The message that already has an `event_id`.
#[derive(Debug, Clone)]
struct Conflict {
    event_id: EventId,
    sequence: u64,
}

/// A wallet's balance, and the amount that exceeds it.
#[derive(Debug, Clone)]
struct Shortfall {
    balance: i64,
    amount: i64,
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            detail: shortened(detail.into()),
            errors: Vec::new(),
            conflict: None,
            last_sequence: None,
            shortfall: None,
            input_request: None,
            holder: None,
            unsettled: Vec::new(),
            retry_after: None,
            is_of_known_caller: false,
            source: None,
        }))
    }

    /// Creates the problem of an error, with the locations that `place` gives to the refused values.
    ///
    /// For a body that has its records elsewhere than the arguments of the store call.
    pub(crate) fn located(error: impl Into<Self>, place: impl Fn(Location) -> Location) -> Self {
        let mut problem = error.into();
        for error in &mut problem.0.errors {
            error.pointer = error.pointer.take().map(&place);
        }
        problem
    }

    /// Refuses a part of the body.
    pub(crate) fn invalid_body(location: impl Into<Location>, detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::INVALID_REQUEST, "the request body is invalid; see errors")
            .at(location, detail)
    }

    /// Refuses a parameter of the path or the query.
    pub(crate) fn invalid_parameter(name: &str, detail: impl Into<String>) -> Self {
        let mut problem =
            Self::new(ProblemKind::INVALID_REQUEST, "a parameter is invalid; see errors");
        problem.0.errors.push(FieldError {
            pointer: None,
            parameter: Some(shortened(name.to_owned())),
            detail: shortened(detail.into()),
        });
        problem
    }

    /// Adds an error about a part of the body.
    pub(crate) fn at(mut self, location: impl Into<Location>, detail: impl Into<String>) -> Self {
        self.0.errors.push(FieldError {
            pointer: Some(location.into()),
            parameter: None,
            detail: shortened(detail.into()),
        });
        self
    }

    pub(crate) fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Adds the tool calls whose results are missing.
    pub(crate) fn with_unsettled_calls(mut self, calls: Vec<UnsettledCall>) -> Self {
        self.0.unsettled = calls.into_iter().map(Into::into).collect();
        self
    }

    pub(crate) fn caused_by(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Notes that the caller has shown a token that was once valid, so this is no attempt to guess one.
    pub(crate) fn of_known_caller(mut self) -> Self {
        self.0.is_of_known_caller = true;
        self
    }

    /// Returns whether the caller has shown a token that was once valid.
    pub(crate) fn is_of_known_caller(&self) -> bool {
        self.0.is_of_known_caller
    }

    /// Returns whether the caller was not identified.
    pub(crate) fn is_unauthenticated(&self) -> bool {
        self.0.kind == ProblemKind::UNAUTHENTICATED
    }

    pub(crate) fn kind(&self) -> ProblemKind {
        self.0.kind
    }

    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Returns the input request that is closed already, with `input-closed`.
    pub(crate) fn input_request(&self) -> Option<&InputRequestResponse> {
        self.0.input_request.as_deref()
    }

    /// Returns the parts of the request that were refused.
    pub(crate) fn errors(&self) -> &[FieldError] {
        &self.0.errors
    }

    /// Returns how long to wait before a retry, if a retry may help.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Logs the cause. For problems that are not sent as an HTTP response, which the `respond` layer logs.
    pub(crate) fn log(&self) {
        respond::log(&self.0);
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.0.kind.status.into_response();
        response.extensions_mut().insert(respond::PendingProblem::from(self));
        response
    }
}

/// Cuts a text that may repeat a long input of the caller.
fn shortened(text: String) -> String {
    const MAX_CHARS: usize = 500;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
