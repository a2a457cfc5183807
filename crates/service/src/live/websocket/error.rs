use std::time::Duration;

use records::{ChatId, EventId};
use serde::Serialize;

use crate::problem::{FieldError, Problem, ProblemKind};
use crate::wire::InputRequestResponse;

/// A frame of the client that came to nothing.
#[derive(Debug, Serialize)]
pub(super) struct FrameError {
    chat_id: String,
    error_code: ErrorCode,
    message: String,
    /// The slug of the problem, as the HTTP API has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
    /// The parts of the frame that were refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    /// The question that takes no answer any more, with the answer that was first.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_request: Option<Box<InputRequestResponse>>,
    /// When to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// What the input was to be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<String>,
}

/// What kind of error it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum ErrorCode {
    InputRequestNotFound,
    PersistenceError,
    RateLimitExceeded,
    ResumeFailed,
    SchemaValidationFailed,
    UnknownType,
    UserMessageFailed,
}

impl FrameError {
    pub(super) fn new(
        chat_id: &ChatId,
        error_code: ErrorCode,
        message: impl Into<String>,
    ) -> Box<Self> {
        Box::new(Self {
            chat_id: chat_id.to_string(),
            error_code,
            message: message.into(),
            problem: None,
            errors: Vec::new(),
            input_request: None,
            retry_after_ms: None,
            event_id: None,
        })
    }

    /// Tells of a problem: one with the store or with the form of the frame says so itself, of any
    /// other `error_code` tells the kind.
    pub(super) fn of(chat_id: &ChatId, error_code: ErrorCode, problem: &Problem) -> Box<Self> {
        problem.log();
        let kind = problem.kind();
        let error_code = match kind {
            ProblemKind::MALFORMED_JSON | ProblemKind::INVALID_REQUEST => {
                ErrorCode::SchemaValidationFailed
            }
            _ if kind.status.is_server_error() && error_code == ErrorCode::UserMessageFailed => {
                ErrorCode::PersistenceError
            }
            _ => error_code,
        };
        let mut error = Self::new(chat_id, error_code, problem.detail());
        error.problem = Some(kind.slug);
        error.errors = problem.errors().to_vec();
        error.input_request = problem.input_request().cloned().map(Box::new);
        error.retry_after_ms = problem.wait().map(milliseconds);
        error
    }

    pub(super) fn retry_after(mut self: Box<Self>, wait: Duration) -> Box<Self> {
        self.retry_after_ms = Some(milliseconds(wait));
        self
    }

    pub(super) fn about(mut self: Box<Self>, event_id: Option<&EventId>) -> Box<Self> {
        self.event_id = event_id.map(ToString::to_string);
        self
    }
}

fn milliseconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}
