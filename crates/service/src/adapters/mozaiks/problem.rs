use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::problem::{FieldError, Problem, ProblemKind};

/// Writes a problem as the original does: `{"detail"}`. `code` is added to it.
pub(super) fn write(problem: &Problem, _path: &str) -> (StatusCode, Value) {
    let kind = problem.kind();
    let status = match kind {
        // The original does not tell a question that was answered from one that was never asked.
        ProblemKind::INPUT_CLOSED => StatusCode::NOT_FOUND,
        _ if kind.status == StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        _ => kind.status,
    };
    let errors: Vec<_> = problem.errors().iter().map(FieldError::told).collect();
    let detail = match kind {
        ProblemKind::CHAT_NOT_FOUND => "Chat not found".to_owned(),
        ProblemKind::INSUFFICIENT_TOKENS => "Insufficient tokens".to_owned(),
        _ if errors.is_empty() => problem.detail().to_owned(),
        _ => errors.join("; "),
    };
    (status, json!({"detail": detail, "code": kind.code}))
}

/// Returns the schema of such an error.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"detail": {"type": "string"}, "code": {"type": "string"}},
        "required": ["detail", "code"],
    })
}
