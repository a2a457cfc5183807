use serde_json::Value;

use crate::dialect::violation::Problem;

/// Returns the rule that a message breaks.
///
/// The document demands a role, a type and properties. Those that it shows for each type are examples, so any are accepted.
pub(super) fn problem(message: &Value) -> Option<Problem> {
    if !message.is_object() {
        return Some(("not_an_object", "the message is not a JSON object".to_owned()));
    }
    let role = &message["role"];
    if !["user", "assistant"].iter().any(|known| role == known) {
        return Some(("unknown_role", format!("there is no role {role}")));
    }
    if message["type"].as_str().is_none_or(str::is_empty) {
        return Some(("missing_type", "the message has no type".to_owned()));
    }
    if message.get("message_id").is_some_and(|id| !id.is_string() && !id.is_null()) {
        return Some(("invalid_id", "the message_id is not a text".to_owned()));
    }
    if !message["props"].is_object() {
        return Some(("missing_props", "the props are not an object".to_owned()));
    }
    None
}
