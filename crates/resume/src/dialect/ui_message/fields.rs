//! The fields of parts that the SDK reads: what a message came with is given back only if they fit.

use serde_json::Value;

/// Returns whether a part that is not in the log may be written as it came.
pub(super) fn is_kept(part: &Value) -> bool {
    let has = |field: &str| part[field].is_string();
    let has_required = match part["type"].as_str() {
        Some("step-start") => true,
        Some("steering-message") => has("id") && part["parts"].is_array(),
        Some("source-url") => has("sourceId") && has("url"),
        Some("source-document") => has("sourceId") && has("mediaType") && has("title"),
        Some("custom") => has("kind"),
        Some("reasoning-file") => has("mediaType") && has("url"),
        Some("reasoning") => has("text"),
        Some(kind) if kind.starts_with("data-") => {
            return part.get("data").is_some() && part.get("id").is_none_or(Value::is_string);
        }
        _ => false,
    };
    let mut fields = part.as_object().into_iter().flatten();
    has_required && fields.all(|(field, value)| field == "type" || fits(field, value))
}

/// Returns whether a value may be that of a field of a part.
pub(super) fn fits(field: &str, value: &Value) -> bool {
    match field {
        "state" => value == "streaming" || value == "done",
        "title" | "filename" | "id" | "mediaType" | "kind" | "sourceId" | "url" | "text" => {
            value.is_string()
        }
        "citations" | "parts" => value.is_array(),
        "providerExecuted" | "preliminary" => value.is_boolean(),
        "dynamic" => *value == Value::Bool(false),
        "inputEncoding" => value == "json" || value == "text",
        "rawInput" => true,
        "toolMetadata" => value.is_object(),
        "providerReference" => is_object_of(value, Value::is_string),
        "providerMetadata" | "callProviderMetadata" | "resultProviderMetadata" => {
            is_object_of(value, Value::is_object)
        }
        _ => false,
    }
}

fn is_object_of(value: &Value, is_valid: impl Fn(&Value) -> bool) -> bool {
    value.as_object().is_some_and(|fields| fields.values().all(is_valid))
}

/// Returns whether an approval is that of a state, in which it has this answer.
pub(super) fn is_approval(approval: &Value, answer: Option<bool>) -> bool {
    let has_answer = match answer {
        None => approval.get("approved").is_none() && approval.get("reason").is_none(),
        Some(answer) => approval["approved"] == answer,
    };
    let is_text = |field: &str| approval.get(field).is_none_or(Value::is_string);
    let is_automatic = approval.get("isAutomatic").is_none_or(Value::is_boolean);
    approval["id"].is_string()
        && has_answer
        && is_text("reason")
        && is_text("requestReason")
        && is_text("signature")
        && is_automatic
}
