use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::problem::{FieldError, Problem, ProblemKind};

/// Writes a problem as the original does: `{"error"}`. `code` is added to it.
pub(super) fn write(problem: &Problem, _path: &str) -> (StatusCode, Value) {
    let kind = problem.kind();
    let status = match kind.status {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    let errors: Vec<_> = problem.errors().iter().map(FieldError::told).collect();
    let error = match (kind, errors.is_empty()) {
        (ProblemKind::CHAT_NOT_FOUND, _) => "Session not found".to_owned(),
        (_, true) => problem.detail().to_owned(),
        (_, false) => errors.join("; "),
    };
    (status, json!({"error": error, "code": kind.code}))
}

/// Returns the schema of such an error.
pub(super) fn schema() -> Value {
    let text = || json!({"type": "string"});
    // Conflicts of completions have a word as their error, and no code.
    json!({
        "type": "object",
        "properties": {"error": text(), "code": text(), "completionId": text()},
        "required": ["error"],
    })
}
