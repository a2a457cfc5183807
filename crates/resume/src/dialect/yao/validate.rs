use serde_json::Value;

use crate::dialect::violation::Problem;

/// Returns the rule that a message breaks.
///
/// The document gives examples of properties, and allows any type of a caller. Only those properties are checked without
/// which the message would show nothing.
pub(super) fn problem(message: &Value) -> Option<Problem> {
    if !message.is_object() {
        return Some(("not_an_object", "the message is not a JSON object".to_owned()));
    }
    let role = &message["role"];
    if !["user", "assistant"].iter().any(|known| role == known) {
        return Some(("unknown_role", format!("there is no role {role}")));
    }
    let Some(kind) = message["type"].as_str().filter(|kind| !kind.is_empty()) else {
        return Some(("missing_type", "the message has no type".to_owned()));
    };
    if message.get("message_id").is_some_and(|id| !id.is_string() && !id.is_null()) {
        return Some(("invalid_id", "the message_id is not a text".to_owned()));
    }
    let props = &message["props"];
    if !props.is_object() {
        return Some(("missing_props", "the props are not an object".to_owned()));
    }
    let lacks = match kind {
        "text" | "thinking" => missing_text(props, &["content"]),
        "user_input" => (!is_input(&props["content"])).then_some("content"),
        "tool_call" => missing_text(props, &["id", "name", "arguments"]),
        "image" | "audio" | "video" => missing_text(props, &["url"]),
        _ => None,
    };
    lacks.map(|field| ("invalid_props", format!("{kind} lacks a valid {field:?}")))
}

fn missing_text(props: &Value, fields: &[&'static str]) -> Option<&'static str> {
    fields.iter().copied().find(|field| !props[*field].is_string())
}

fn is_input(content: &Value) -> bool {
    let is_part = |part: &Value| matches!(part.pointer("/type"), Some(Value::String(_)));
    match content {
        Value::Array(parts) => parts.iter().all(is_part),
        other => other.is_string(),
    }
}
