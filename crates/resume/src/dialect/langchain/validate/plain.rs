use serde_json::Value;

use crate::dialect::violation::Problem;

const ROLES: [&str; 9] =
    ["human", "user", "ai", "assistant", "system", "developer", "tool", "function", "remove"];

/// Says whether a message has its fields beside its role.
pub(super) fn is_plain(message: &Value) -> bool {
    let has = |field: &str| message.get(field).is_some();
    !has("data") && (has("role") || has("content"))
}

/// Returns what stands for the role.
pub(super) fn role(message: &Value) -> &Value {
    message.get("role").unwrap_or(&message["type"])
}

/// Returns what is wrong with a message that has a role.
pub(super) fn problems(message: &Value) -> Vec<Problem> {
    let role = role(message);
    let Some(role) = role.as_str().filter(|role| ROLES.contains(role)) else {
        return vec![("unknown_role", format!("the form has no role {role}"))];
    };
    let mut found = Vec::new();
    match message.get("content") {
        None => found.push(("missing_field", "the message has no content".to_owned())),
        Some(content) if content.is_null() || is_content(content) => {}
        Some(_) => {
            found.push(("invalid_content", "the content is neither text nor a list".to_owned()));
        }
    }
    let named = match role {
        "tool" => Some("tool_call_id"),
        "function" => Some("name"),
        "remove" => Some("id"),
        _ => None,
    };
    if let Some(field) = named.filter(|field| !message[*field].is_string()) {
        found.push(("missing_field", format!("the message has no {field}")));
    }
    let calls = message.get("tool_calls").filter(|calls| !calls.is_null());
    if calls.is_some_and(|calls| !calls.as_array().is_some_and(|calls| calls.iter().all(is_call))) {
        let detail = "a call has no name, no id or no arguments that can be read";
        found.push(("invalid_calls", detail.to_owned()));
    }
    found
}

/// Says whether a value is a content.
pub(super) fn is_content(content: &Value) -> bool {
    match content {
        Value::String(_) => true,
        Value::Array(parts) => parts.iter().all(|part| part.is_string() || part.is_object()),
        _ => false,
    }
}

/// Says whether a call is one of this form, or one of `OpenAI`'s with the text of its arguments.
fn is_call(call: &Value) -> bool {
    let (target, arguments) = match call.get("function") {
        Some(function) => (function, read(&function["arguments"])),
        None => (call, Some(call["args"].clone())),
    };
    call["id"].is_string()
        && target["name"].is_string()
        && arguments.is_some_and(|arguments| arguments.is_object())
}

fn read(arguments: &Value) -> Option<Value> {
    match arguments {
        Value::String(text) => serde_json::from_str(text).ok(),
        other => Some(other.clone()),
    }
}
