use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::problem::{FieldError, Problem};

/// Writes a problem as Yao does: `{"error", "error_description"}`. `code` is added to it.
pub(super) fn write(problem: &Problem, _path: &str) -> (StatusCode, Value) {
    let kind = problem.kind();
    let status = match kind.status {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    let error = match status.as_u16() {
        401 => "invalid_token",
        403 => "access_denied",
        404 => "resource_not_found",
        409 => "conflict",
        429 => "rate_limit_exceeded",
        413 => "request_too_large",
        400 | 402..500 => "invalid_request",
        _ => "server_error",
    };
    let errors: Vec<_> = problem.errors().iter().map(FieldError::told).collect();
    let description =
        if errors.is_empty() { problem.detail().to_owned() } else { errors.join("; ") };
    (status, json!({"error": error, "error_description": description, "code": kind.code}))
}

/// Returns the schema of such an error.
pub(super) fn schema() -> Value {
    let text = || json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {"error": text(), "error_description": text(), "code": text()},
        "required": ["error", "error_description", "code"],
    })
}
