use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::dialect::violation::Problem;

const OF_REQUESTS: [&str; 14] = [
    "system-prompt",
    "user-prompt",
    "tool-return",
    "retry-prompt",
    "retry-feedback",
    "speech",
    "compaction",
    "tool-availability-delta",
    "capability-load-delta",
    "model-settings-delta",
    "instruction-delta",
    "instruction-baseline",
    "tool-search-return",
    "capability-load-return",
];

const OF_RESPONSES: [&str; 8] = [
    "text",
    "thinking",
    "tool-call",
    "file",
    "builtin-tool-call",
    "builtin-tool-return",
    "compaction",
    "speech",
];

/// Returns the problem of a part of a message of this kind.
pub(super) fn problem(message_kind: &str, part: &Value) -> Option<Problem> {
    let known: &[&str] = if message_kind == "request" { &OF_REQUESTS } else { &OF_RESPONSES };
    let kind = part["part_kind"].as_str().unwrap_or_default();
    if !known.contains(&kind) {
        let detail = format!("a {message_kind} has no part of kind {}", part["part_kind"]);
        return Some(("unknown_part", detail));
    }
    let has = |field: &str| part[field].is_string();
    let content = &part["content"];
    let is_feedback = |content: &Value| content.is_string() || content.is_array();
    let valid = match kind {
        "system-prompt" | "text" | "thinking" => content.is_string(),
        "user-prompt" => match content {
            Value::Array(items) => items.iter().all(is_item),
            _ => content.is_string(),
        },
        "retry-prompt" => is_feedback(content),
        "retry-feedback" => is_feedback(content) && part["retry"].is_object(),
        "file" => content["kind"] == "binary" && is_item(content),
        "tool-call" | "builtin-tool-call" => {
            let arguments = &part["args"];
            let has_input = arguments.is_string() || arguments.is_object() || arguments.is_null();
            if !(has_input && has("tool_name") && has("tool_call_id")) {
                let detail = "the call lacks a name, an id or readable arguments";
                return Some(("invalid_call", detail.to_owned()));
            }
            true
        }
        "tool-return" if !(has("tool_name") && has("tool_call_id")) => {
            return Some(("invalid_result", "the result lacks a name or an id".to_owned()));
        }
        _ => true,
    };
    (!valid).then(|| ("invalid_content", format!("a {kind} part cannot have this content")))
}

/// Returns whether a value may be an item of a prompt.
fn is_item(item: &Value) -> bool {
    let has = |field: &str| item[field].is_string();
    match item["kind"].as_str() {
        None => item.is_string(),
        Some("text-content" | "structured-content") => {
            has("content") || item.get("value").is_some()
        }
        Some("image-url" | "audio-url" | "video-url" | "document-url") => has("url"),
        Some("binary") => {
            let data = item["data"].as_str().unwrap_or("=");
            has("media_type") && BASE64_STANDARD.decode(data).is_ok()
        }
        Some("uploaded-file") => has("file_id") && has("provider_name"),
        Some(kind) => kind == "cache-point",
    }
}
