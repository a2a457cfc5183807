use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::found::Found;
use crate::dialect::{Problem, Violation};

const TYPES: [&str; 7] = ["human", "ai", "system", "tool", "function", "chat", "remove"];

/// Returns the ways in which the messages break the rules, by position.
pub(super) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut found = Found::default();
    let answers = messages.iter().filter(|message| message["type"] == "tool");
    let answered: HashSet<_> =
        answers.filter_map(|message| message["data"]["tool_call_id"].as_str()).collect();
    for (index, message) in messages.iter().enumerate() {
        found.extend(Violation::at(index, problems(message)));
        let calls = message["data"]["tool_calls"].as_array().into_iter().flatten();
        let open = calls.filter_map(|call| call["id"].as_str()).filter(|id| !answered.contains(id));
        found.extend(open.map(|id| {
            let detail = format!("the call {id:?} has no result");
            Violation::new(index, "unanswered_call", detail)
        }));
    }
    found.sorted()
}

fn problems(message: &Value) -> Vec<Problem> {
    if !message.is_object() {
        return vec![("not_an_object", "the message is not a JSON object".to_owned())];
    }
    let kind = message["type"].as_str().unwrap_or_default();
    if !TYPES.contains(&kind) {
        return vec![("unknown_type", format!("the form has no type {}", message["type"]))];
    }
    let data = &message["data"];
    if !data.is_object() {
        return vec![("missing_data", "the data is not a JSON object".to_owned())];
    }
    let mut found = Vec::new();
    let is_part = |part: &Value| part.is_string() || part.is_object();
    let has_content = match &data["content"] {
        Value::String(_) => true,
        Value::Array(parts) => parts.iter().all(is_part),
        _ => false,
    };
    if !has_content {
        found.push(("invalid_content", "the content is neither text nor a list".to_owned()));
    }
    let named = match kind {
        "tool" => "tool_call_id",
        "function" => "name",
        "chat" => "role",
        "remove" => "id",
        _ => "content",
    };
    if data.get(named).is_none_or(|value| !value.is_string() && named != "content") {
        found.push(("missing_field", format!("the data has no {named}")));
    }
    found.extend(calls(data));
    found
}

fn calls(data: &Value) -> Option<Problem> {
    let calls = data.get("tool_calls")?;
    let is_call = |call: &Value| {
        call["name"].is_string() && call["args"].is_object() && call["id"].is_string()
    };
    let valid = calls.as_array().is_some_and(|calls| calls.iter().all(is_call));
    let detail = || "a call has no name, no id or no arguments".to_owned();
    (!valid).then(|| ("invalid_calls", detail()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(messages: &Value) -> Vec<(usize, &'static str)> {
        let found = violations(messages.as_array().unwrap());
        found.into_iter().map(|violation| (violation.index, violation.rule)).collect()
    }

    #[test]
    fn a_call_is_answered_somewhere() {
        let call = json!({"name": "f", "args": {}, "id": "a", "type": "tool_call"});
        let ai = json!({"type": "ai", "data": {"content": "", "tool_calls": [call]}});
        let human = json!({"type": "human", "data": {"content": "x"}});
        let tool = json!({"type": "tool", "data": {"content": "x", "tool_call_id": "a"}});
        assert_eq!(rules(&json!([ai, human, tool])), []);
        assert_eq!(rules(&json!([ai, human])), [(0, "unanswered_call")]);
    }

    #[test]
    fn shapes_are_checked() {
        let cases = [
            (json!("x"), "not_an_object"),
            (json!({"type": "assistant", "data": {"content": "x"}}), "unknown_type"),
            (json!({"type": "ai"}), "missing_data"),
            (json!({"type": "ai", "data": {"content": null}}), "invalid_content"),
            (json!({"type": "tool", "data": {"content": "x"}}), "missing_field"),
            (
                json!({"type": "ai", "data": {"content": "", "tool_calls": [
                    {"name": "f", "args": "{}", "id": "a"},
                ]}}),
                "invalid_calls",
            ),
        ];
        for (message, rule) in cases {
            assert!(rules(&json!([message])).contains(&(0, rule)), "{message}");
        }
    }
}
