use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

mod plain;

const TYPES: [&str; 7] = ["human", "ai", "system", "tool", "function", "chat", "remove"];

/// Returns the rules that the messages break, ordered by position.
///
/// A message with `data` has the format of `messages_from_dict`. Any other message is checked as one
/// with `role` and `content`, for `convert_to_messages`. A result may come anywhere after its call.
pub(super) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    let answered: HashSet<_> = messages.iter().filter_map(answered_id).collect();
    for (index, message) in messages.iter().enumerate() {
        violations.report(index, problems(message));
        let calls = fields(message)["tool_calls"].as_array().into_iter().flatten();
        let open = calls.filter_map(|call| call["id"].as_str()).filter(|id| !answered.contains(id));
        violations.extend(open.map(|id| {
            let detail = format!("the call {id:?} has no result");
            Violation::new(index, "unanswered_call", detail)
        }));
    }
    violations.into_sorted()
}

/// Returns the object that holds the fields of a message.
fn fields(message: &Value) -> &Value {
    if plain::is_plain(message) { message } else { &message["data"] }
}

/// Returns the id of the call that a message answers.
fn answered_id(message: &Value) -> Option<&str> {
    let kind = if plain::is_plain(message) { plain::role(message) } else { &message["type"] };
    fields(message)["tool_call_id"].as_str().filter(|_| kind == "tool")
}

fn problems(message: &Value) -> Vec<Problem> {
    if !message.is_object() {
        return vec![("not_an_object", "the message is not a JSON object".to_owned())];
    }
    if plain::is_plain(message) {
        return plain::problems(message);
    }
    let kind = message["type"].as_str().unwrap_or_default();
    if !TYPES.contains(&kind) {
        return vec![("unknown_type", format!("the dialect has no type {}", message["type"]))];
    }
    let data = &message["data"];
    if !data.is_object() {
        return vec![("missing_data", "the data is not a JSON object".to_owned())];
    }
    let mut problems = Vec::new();
    if !plain::is_content(&data["content"]) {
        problems.push(("invalid_content", "the content is neither text nor a list".to_owned()));
    }
    let required = match kind {
        "tool" => "tool_call_id",
        "function" => "name",
        "chat" => "role",
        "remove" => "id",
        _ => "content",
    };
    if data.get(required).is_none_or(|value| !value.is_string() && required != "content") {
        problems.push(("missing_field", format!("the data has no {required}")));
    }
    problems.extend(call_problem(data));
    problems
}

fn call_problem(data: &Value) -> Option<Problem> {
    let calls = data.get("tool_calls")?;
    let is_call = |call: &Value| {
        call["name"].is_string() && call["args"].is_object() && call["id"].is_string()
    };
    let valid = calls.as_array().is_some_and(|calls| calls.iter().all(is_call));
    let detail = || "a call lacks a name, an id or arguments".to_owned();
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
    fn a_call_has_a_result_anywhere() {
        let call = json!({"name": "f", "args": {}, "id": "a", "type": "tool_call"});
        let ai = json!({"type": "ai", "data": {"content": "", "tool_calls": [call]}});
        let human = json!({"type": "human", "data": {"content": "x"}});
        let tool = json!({"type": "tool", "data": {"content": "x", "tool_call_id": "a"}});
        assert_eq!(rules(&json!([ai, human, tool])), []);
        assert_eq!(rules(&json!([ai, human])), [(0, "unanswered_call")]);
    }

    #[test]
    fn messages_with_role_and_content_are_accepted() {
        let read = json!({"id": "a", "name": "f", "args": {}});
        let raw = json!({"id": "b", "type": "function",
            "function": {"name": "f", "arguments": "{}"}});
        let ai = json!({"role": "assistant", "content": null, "tool_calls": [read, raw]});
        let result = |id: &str| json!({"role": "tool", "content": "x", "tool_call_id": id});
        let user = json!({"role": "user", "content": "x"});
        let human = json!({"type": "human", "content": "x"});
        assert_eq!(rules(&json!([user, human, ai, result("a"), result("b")])), []);
        assert_eq!(rules(&json!([ai, result("a")])), [(0, "unanswered_call")]);
        let typed = json!({"type": "tool", "data": {"content": "x", "tool_call_id": "b"}});
        assert_eq!(rules(&json!([ai, result("a"), typed])), []);
        let call = |change: Value| json!({"role": "ai", "content": "", "tool_calls": [change]});
        let cases = [
            (json!({"role": "assistant"}), "missing_field"),
            (json!({"role": "robot", "content": "x"}), "unknown_role"),
            (json!({"role": "user", "content": 1}), "invalid_content"),
            (json!({"role": "tool", "content": "x"}), "missing_field"),
            (json!({"role": "function", "content": "x"}), "missing_field"),
            (call(json!({"id": "a", "name": "f", "args": "{}"})), "invalid_calls"),
            (
                call(json!({"id": "a", "function": {"name": "f", "arguments": "{"}})),
                "invalid_calls",
            ),
        ];
        for (message, rule) in cases {
            assert!(rules(&json!([message])).contains(&(0, rule)), "{message}");
        }
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
