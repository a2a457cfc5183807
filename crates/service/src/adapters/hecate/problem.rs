use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::problem::{FieldError, Place, Problem, ProblemKind, without_kind};

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
    let rule = without_kind(error.detail());
    match error.place() {
        Place::Parameter(name) if is_of_query(name) => format!("{name} query parameter {rule}"),
        Place::Parameter(name) => format!("{name} {rule}"),
        Place::Body(pointer) if pointer.is_empty() => rule.to_owned(),
        Place::Body(pointer) => format!("{}: {rule}", pointer.trim_start_matches('/')),
    }
}

/// Returns whether a parameter is one of the query: those of the path are ids, and headers have capitals or hyphens.
fn is_of_query(name: &str) -> bool {
    !name.ends_with("_id") && name.bytes().all(|byte| byte.is_ascii_lowercase())
}
