use std::time::Duration;

use records::{ChatId, EventId};
use serde::Serialize;

use crate::problem::{FieldError, Problem, ProblemKind};
use crate::wire::InputRequestResponse;

/// The reply to a frame that was refused.
#[derive(Debug, Serialize)]
pub(super) struct FrameError {
    chat_id: String,
    error_code: ErrorCode,
    message: String,
    /// The `type` of the problem, as in the HTTP API.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
    /// The parts of the frame that were refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    /// The input request that is closed already, with the answer that closed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_request: Option<Box<InputRequestResponse>>,
    /// How long to wait before a retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// The `event_id` of the input that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<String>,
}

/// The kind of an error.
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

    /// Creates the reply to a frame that has failed with a problem.
    ///
    /// `error_code` is used unless the problem determines the code: a malformed frame, or a store that
    /// failed.
    pub(super) fn from_problem(
        chat_id: &ChatId,
        error_code: ErrorCode,
        problem: &Problem,
    ) -> Box<Self> {
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
        error.problem = Some(kind.code);
        error.errors = problem.errors().to_vec();
        error.input_request = problem.input_request().cloned().map(Box::new);
        error.retry_after_ms = problem.retry_after().map(milliseconds);
        error
    }

    pub(super) fn with_retry_after(mut self: Box<Self>, wait: Duration) -> Box<Self> {
        self.retry_after_ms = Some(milliseconds(wait));
        self
    }

    pub(super) fn with_event_id(mut self: Box<Self>, event_id: Option<&EventId>) -> Box<Self> {
        self.event_id = event_id.map(ToString::to_string);
        self
    }
}

fn milliseconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}
