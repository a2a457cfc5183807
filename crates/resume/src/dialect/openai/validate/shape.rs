use serde_json::{Map, Value};

use super::calls;
use crate::canonical::{are_parts, is_empty_value};
use crate::dialect::checks::is_name;
use crate::dialect::violation::Problem;
use crate::dialect::violation_list::ViolationList;

/// The fields and content parts that a role may have.
struct Shape {
    role: &'static str,
    /// The fields besides `role` and `content`.
    fields: &'static [&'static str],
    /// The types of its content parts; if there are none, the content must be text.
    parts: &'static [&'static str],
}

const SHAPES: [Shape; 6] = [
    Shape { role: "system", fields: &["name"], parts: &["text"] },
    Shape { role: "developer", fields: &["name"], parts: &["text"] },
    Shape { role: "user", fields: &["name"], parts: &["text", "image_url", "input_audio", "file"] },
    Shape {
        role: "assistant",
        fields: &["name", "refusal", "audio", "annotations", "tool_calls", "function_call"],
        parts: &["text", "refusal"],
    },
    Shape { role: "tool", fields: &["tool_call_id", "name"], parts: &["text"] },
    Shape { role: "function", fields: &["name"], parts: &[] },
];

/// Returns the problems of one message, without regard to other messages.
pub(super) fn problems(message: &Value) -> Vec<Problem> {
    let Some(message) = message.as_object() else {
        return vec![("not_an_object", "the message is not a JSON object".to_owned())];
    };
    let role = message.get("role").unwrap_or(&Value::Null);
    let Some(shape) = SHAPES.iter().find(|shape| role == shape.role) else {
        return vec![("unknown_role", format!("the dialect has no role {role}"))];
    };
    let fields =
        message.keys().filter_map(|key| field_problem(shape, key)).take(ViolationList::MAX);
    let single = [
        name_problem(shape, message),
        call_id_problem(shape, message),
        refusal_problem(message),
        content_problem(shape, message),
    ];
    let single = single.into_iter().flatten();
    fields.chain(single).chain(calls::problems(message)).collect()
}

fn field_problem(shape: &Shape, key: &str) -> Option<Problem> {
    let known = key == "role" || key == "content" || shape.fields.contains(&key);
    (!known).then(|| ("unknown_field", format!("the role {} has no field {key:?}", shape.role)))
}

fn name_problem(shape: &Shape, message: &Map<String, Value>) -> Option<Problem> {
    let valid = match message.get("name") {
        Some(name) => is_name(name),
        None => shape.role != "function",
    };
    let detail = || "the name does not match ^[a-zA-Z0-9_-]{1,64}$".to_owned();
    (!valid).then(|| ("invalid_name", detail()))
}

fn call_id_problem(shape: &Shape, message: &Map<String, Value>) -> Option<Problem> {
    let id = message.get("tool_call_id").and_then(Value::as_str);
    let missing = shape.role == "tool" && id.is_none_or(str::is_empty);
    missing.then(|| ("missing_call_id", "the result has no call id".to_owned()))
}

fn refusal_problem(message: &Map<String, Value>) -> Option<Problem> {
    let valid = message.get("refusal").is_none_or(|it| it.is_string() || it.is_null());
    (!valid).then(|| ("invalid_refusal", "the refusal is not text".to_owned()))
}

fn content_problem(shape: &Shape, message: &Map<String, Value>) -> Option<Problem> {
    let valid = match message.get("content") {
        Some(Value::String(_)) => true,
        Some(Value::Array(parts)) => {
            !parts.is_empty() && parts.iter().all(|part| is_part(shape, part))
        }
        Some(Value::Null) => shape.role == "function" || needs_no_content(message),
        None => needs_no_content(message),
        Some(_) => false,
    };
    let content = message.get("content").unwrap_or(&Value::Null);
    if !valid && is_empty_value(content) {
        return Some(("missing_content", format!("the role {} needs a content", shape.role)));
    }
    if !valid && shape.role == "tool" && is_part_list(content) {
        let detail = "the role tool has text parts only".to_owned();
        return Some(("part_not_accepted", detail));
    }
    if !valid && is_part_list(content) {
        let detail = format!("the role {} has no such content part", shape.role);
        return Some(("unknown_block", detail));
    }
    let detail = || format!("the role {} cannot have this content", shape.role);
    (!valid).then(|| ("invalid_content", detail()))
}

/// Returns whether a content is a list of parts, which some libraries give to a result as to any message.
fn is_part_list(content: &Value) -> bool {
    content.as_array().is_some_and(|parts| are_parts(parts))
}

/// Returns whether a message makes calls, refuses or speaks: then it needs no content.
fn needs_no_content(message: &Map<String, Value>) -> bool {
    let says = |field: &str| message.get(field).is_some_and(|it| !it.is_null());
    ["tool_calls", "function_call", "refusal", "audio"].into_iter().any(says)
}

fn is_part(shape: &Shape, part: &Value) -> bool {
    let known = shape.parts.iter().find(|kind| part["type"] == **kind);
    match known {
        Some(&"text") => part["text"].is_string(),
        Some(&"refusal") => part["refusal"].is_string(),
        Some(&"image_url") => part["image_url"]["url"].is_string(),
        Some(&"input_audio") => is_sound(&part["input_audio"]),
        Some(&"file") => {
            ["file_data", "file_id"].iter().any(|field| part["file"][field].is_string())
        }
        _ => false,
    }
}

fn is_sound(sound: &Value) -> bool {
    let known = sound["format"] == "mp3" || sound["format"] == "wav";
    known && sound["data"].is_string()
}
