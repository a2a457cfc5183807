use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::problem::{FieldError, Place, Problem, ProblemKind};

/// Writes a problem as Hecate does: `{"error": {"type", "message"}}`. `code` is added to it.
pub(super) fn write(problem: &Problem, _path: &str) -> (StatusCode, Value) {
    let kind = problem.kind();
    let status = match kind.status {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    let message = if kind == ProblemKind::CHAT_NOT_FOUND {
        "chat session not found".to_owned()
    } else {
        let errors: Vec<_> = problem.errors().iter().map(described).collect();
        if errors.is_empty() { problem.detail().to_owned() } else { errors.join("; ") }
    };
    let kind_of_error = match status.as_u16() {
        401 => "unauthorized",
        402 => "insufficient_balance",
        403 => "forbidden",
        404 => "not_found",
        409 => "conflict",
        429 => "rate_limited",
        400 | 405..500 => "invalid_request",
        _ => "gateway_error",
    };
    (status, json!({"error": {"type": kind_of_error, "message": message, "code": kind.code}}))
}

/// Returns the schema of such an error.
pub(super) fn schema() -> Value {
    let text = || json!({"type": "string"});
    let error = json!({
        "type": "object",
        "properties": {"type": text(), "message": text(), "code": text()},
        "required": ["type", "message", "code"],
    });
    json!({"type": "object", "properties": {"error": error}, "required": ["error"]})
}

fn described(error: &FieldError) -> String {
    match error.place() {
        Place::Parameter(name) => format!("{name} query parameter {}", error.detail()),
        Place::Body(pointer) if pointer.is_empty() => error.detail().to_owned(),
        Place::Body(pointer) => format!("{}: {}", pointer.trim_start_matches('/'), error.detail()),
    }
}
