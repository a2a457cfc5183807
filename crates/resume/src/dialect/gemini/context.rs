//! The calls of the log, for pieces of a transcript in which calls and responses have no ids.

use std::collections::{HashMap, HashSet};

use records::Message;
use serde_json::{Value, json};

use crate::calls::{CallKey, calls_answered};

/// Returns whether a call or a response has no id: a response may answer a call of the log, and a new id must differ from
/// those in the log.
pub(super) fn is_needed(contents: &[Value]) -> bool {
    let parts = contents.iter().filter_map(|content| content["parts"].as_array()).flatten();
    let fields = ["functionCall", "functionResponse", "function_call", "function_response"];
    let mut named = parts.flat_map(|part| fields.map(|field| &part[field]));
    named.any(|named| named.is_object() && !named["id"].is_string())
}

/// Returns contents with the calls of a log and the responses that the log has, so that the others are open.
pub(super) fn of_log(log: &[Message]) -> Vec<Value> {
    let mut names: HashMap<CallKey, (&str, &str)> = HashMap::new();
    let (mut called, mut answered, mut settled) = (Vec::new(), Vec::new(), HashSet::new());
    for message in log {
        let calls = message.body.extra.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let name = call["function"]["name"].as_str().unwrap_or_default();
            let Some(id) = call["id"].as_str() else { continue };
            names.insert(CallKey::from_id(id), (id, name));
            called.push((id, name));
        }
        for key in calls_answered(&message.body) {
            let Some((id, name)) = names.get(&key) else { continue };
            settled.insert(key);
            answered.push((*id, *name));
        }
    }
    let part = |field: &str, id: &str, name: &str| json!({field: {"id": id, "name": name}});
    let turn = |role: &str, parts: Vec<Value>| json!({"role": role, "parts": parts});
    let of = |field: &str, calls: &[(&str, &str)]| {
        calls.iter().map(|(id, name)| part(field, id, name)).collect::<Vec<_>>()
    };
    called.retain(|(id, _)| !settled.contains(&CallKey::from_id(id)));
    let mut contents = Vec::new();
    if !answered.is_empty() {
        contents.push(turn("model", of("functionCall", &answered)));
        contents.push(turn("user", of("functionResponse", &answered)));
    }
    if !called.is_empty() {
        contents.push(turn("model", of("functionCall", &called)));
    }
    contents
}
