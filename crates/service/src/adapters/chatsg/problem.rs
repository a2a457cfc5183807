use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::problem::{FieldError, Problem, ProblemKind};

/// Writes a problem as the original does: `{"error", "details"}`, for a session that does not exist
/// `{"error", "sessionId"}`. `code` is added to it.
pub(super) fn write(problem: &Problem, path: &str) -> (StatusCode, Value) {
    let kind = problem.kind();
    if kind == ProblemKind::CHAT_NOT_FOUND {
        let mut body = json!({"error": "Session not found", "code": kind.code});
        if let Some(chat_id) = session_in(path) {
            body["sessionId"] = chat_id.into();
        }
        return (kind.status, body);
    }
    let status = match kind.status {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    let error = match status {
        StatusCode::BAD_REQUEST => "Invalid request",
        _ => kind.title,
    };
    let errors: Vec<_> = problem.errors().iter().map(FieldError::told).collect();
    let details = if errors.is_empty() { problem.detail().to_owned() } else { errors.join("; ") };
    (status, json!({"error": error, "details": details, "code": kind.code}))
}

/// Returns the schema of such an error.
pub(super) fn schema() -> Value {
    let text = || json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {"error": text(), "details": text(), "sessionId": text(), "code": text()},
        "required": ["error", "code"],
    })
}

/// Returns the session of a path: `/chatsg/{app_id}/api/chats/{chat_id}…`.
fn session_in(path: &str) -> Option<&str> {
    path.split('/').nth(5)
}
