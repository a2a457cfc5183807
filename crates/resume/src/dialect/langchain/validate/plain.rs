use serde_json::Value;

use crate::dialect::violation::Problem;

const ROLES: [&str; 9] =
    ["human", "user", "ai", "assistant", "system", "developer", "tool", "function", "remove"];

/// Returns whether a message has `role` or `content`, and not `data`.
pub(super) fn is_plain(message: &Value) -> bool {
    let has = |field: &str| message.get(field).is_some();
    !has("data") && (has("role") || has("content"))
}

/// Returns the role, which may be in `type`.
pub(super) fn role(message: &Value) -> &Value {
    message.get("role").unwrap_or(&message["type"])
}

/// Returns the problems of a message with a role.
pub(super) fn problems(message: &Value) -> Vec<Problem> {
    let role = role(message);
    // A `ChatMessage` may have any role.
    let is_chat = message["type"] == "chat" && *role != message["type"];
    let is_known = |role: &&str| ROLES.contains(role) || is_chat && !role.is_empty();
    let Some(role) = role.as_str().filter(is_known) else {
        return vec![("unknown_role", format!("the dialect has no role {role}"))];
    };
    let mut problems = Vec::new();
    match message.get("content") {
        None => problems.push(("missing_field", "the message has no content".to_owned())),
        Some(content) if content.is_null() || is_content(content) => {}
        Some(_) => {
            problems.push(("invalid_content", "the content is neither text nor a list".to_owned()));
        }
    }
    let required = match role {
        "tool" => Some("tool_call_id"),
        "function" => Some("name"),
        "remove" => Some("id"),
        _ => None,
    };
    if let Some(field) = required.filter(|field| !message[*field].is_string()) {
        problems.push(("missing_field", format!("the message has no {field}")));
    }
    let calls = message.get("tool_calls").filter(|calls| !calls.is_null());
    if calls.is_some_and(|calls| !calls.as_array().is_some_and(|calls| calls.iter().all(is_call))) {
        let detail = "a call lacks a name, an id or readable arguments";
        problems.push(("invalid_calls", detail.to_owned()));
    }
    problems
}

/// Returns whether a value may be the content of a message.
pub(super) fn is_content(content: &Value) -> bool {
    match content {
        Value::String(_) => true,
        Value::Array(parts) => parts.iter().all(|part| part.is_string() || part.is_object()),
        _ => false,
    }
}

/// Returns whether a call has the format of `LangChain`, or that of `OpenAI` with arguments as text.
fn is_call(call: &Value) -> bool {
    let (target, arguments) = match call.get("function") {
        Some(function) => (function, read_arguments(&function["arguments"])),
        None => (call, Some(call["args"].clone())),
    };
    call["id"].is_string()
        && target["name"].is_string()
        && arguments.is_some_and(|arguments| arguments.is_object())
}

fn read_arguments(arguments: &Value) -> Option<Value> {
    match arguments {
        Value::String(text) => serde_json::from_str(text).ok(),
        other => Some(other.clone()),
    }
}
