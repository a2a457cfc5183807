use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Error as SocketError;
use tokio_tungstenite::tungstenite::http::Response as Answer;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The service did not respond, or not completely.
    #[error("no answer")]
    NoAnswer(#[from] reqwest::Error),
    /// The WebSocket could not be opened, or broke.
    #[error("no socket")]
    NoSocket(#[source] Box<SocketError>),
    /// The service returned a problem.
    #[error("the service answered {} ({}): {} {}", .0.status, .0.kind, .0.detail, .0.errors)]
    Refused(Box<Problem>),
    /// The response does not have the documented shape.
    #[error("the answer has another shape than it should")]
    OtherShape(#[from] serde_json::Error),
}

impl CallError {
    /// Returns whether the same call may succeed later: the service or its store was away, or the
    /// outcome is unknown.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NoAnswer(_) | Self::NoSocket(_) => true,
            Self::Refused(problem) => matches!(problem.status, 503 | 504),
            Self::OtherShape(_) => false,
        }
    }
}

impl From<SocketError> for CallError {
    fn from(error: SocketError) -> Self {
        match error {
            SocketError::Http(answer) => Self::Refused(Box::new(Problem::of_handshake(&answer))),
            error => Self::NoSocket(Box::new(error)),
        }
    }
}

/// Returns the problem of a call that is expected to fail.
pub fn refusal<T>(answer: Result<T, CallError>) -> anyhow::Result<Problem> {
    match answer {
        Ok(_) => anyhow::bail!("the call was not refused"),
        Err(CallError::Refused(problem)) => Ok(*problem),
        Err(error) => Err(error.into()),
    }
}

/// A problem document of the service (RFC 9457).
#[derive(Debug, Deserialize)]
pub struct Problem {
    /// The kind of problem.
    #[serde(rename = "code")]
    pub kind: String,
    /// The HTTP status.
    pub status: u16,
    /// The explanation.
    pub detail: String,
    /// What is wrong with which field.
    #[serde(default)]
    pub errors: Value,
    /// The closed input request.
    pub input_request: Option<Box<Value>>,
    /// The seconds after which to retry.
    #[serde(skip)]
    pub retry_after: Option<u64>,
}

impl Problem {
    pub(super) async fn read(response: Response) -> Result<Self, CallError> {
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(Self::told(status, &headers, response.text().await?))
    }

    fn of_handshake(answer: &Answer<Option<Vec<u8>>>) -> Self {
        let text = String::from_utf8_lossy(answer.body().as_deref().unwrap_or_default());
        Self::told(answer.status(), answer.headers(), text.into_owned())
    }

    fn told(status: StatusCode, headers: &HeaderMap, text: String) -> Self {
        let retry_after = headers.get(RETRY_AFTER);
        let retry_after =
            retry_after.and_then(|seconds| seconds.to_str().ok()).and_then(|s| s.parse().ok());
        let told: Result<Self, _> = serde_json::from_str(&text);
        let problem = told.unwrap_or_else(|_| Self::untold(status, text));
        Self { retry_after, ..problem }
    }

    /// A response that is not a problem document, such as that of `ready`.
    fn untold(status: StatusCode, text: String) -> Self {
        let status = status.as_u16();
        Self {
            kind: "untold".to_owned(),
            status,
            detail: text,
            errors: Value::Null,
            input_request: None,
            retry_after: None,
        }
    }
}
