use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

mod limits;
pub(super) use limits::violations as provider_violations;

mod part;

/// Returns the rules that the messages break, ordered by position.
pub(super) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    if messages.is_empty() {
        violations.push(Violation::new(0, "no_messages", "there are no messages"));
    }
    let mut ids = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        violations.report(index, problems(message));
        if message["id"].as_str().is_some_and(|id| !ids.insert(id)) {
            violations.push(Violation::new(
                index,
                "duplicate_id",
                "an earlier message has the same id",
            ));
        }
    }
    violations.into_sorted()
}

/// Returns the calls that have no result yet, ordered by position.
pub(super) fn waiting(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    for (index, message) in messages.iter().enumerate() {
        let parts = message["parts"].as_array().into_iter().flatten();
        violations.report(index, parts.filter_map(part::waiting_problem));
    }
    violations.into_sorted()
}

fn problems(message: &Value) -> Vec<Problem> {
    if !message.is_object() {
        return vec![("not_an_object", "the message is not a JSON object".to_owned())];
    }
    let mut problems = Vec::new();
    if !message["id"].is_string() {
        problems.push(("missing_id", "the id is not text".to_owned()));
    }
    let role = message["role"].as_str().unwrap_or_default();
    if role == "system" {
        let detail = "the SDK takes instructions apart from the messages";
        problems.push(("system_message", detail.to_owned()));
    } else if role != "user" && role != "assistant" {
        problems.push(("unknown_role", format!("the dialect has no role {}", message["role"])));
    }
    match message["parts"].as_array() {
        Some(parts) if role == "assistant" || !parts.is_empty() => {
            problems.extend(parts.iter().filter_map(part::problem).take(ViolationList::MAX));
        }
        _ => problems.push(("no_parts", "the message has no parts".to_owned())),
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(messages: &Value) -> Vec<(usize, &'static str)> {
        let found = violations(messages.as_array().unwrap());
        found.into_iter().map(|violation| (violation.index, violation.rule)).collect()
    }

    fn agent(part: &Value) -> Value {
        json!([{"id": "a", "role": "assistant", "parts": [part]}])
    }

    #[test]
    fn messages_are_checked() {
        let user = json!({"id": "a", "role": "user", "parts": [{"type": "text", "text": ""}]});
        assert_eq!(rules(&json!([user])), []);
        assert_eq!(rules(&json!([user, user])), [(1, "duplicate_id")]);
        assert_eq!(rules(&json!([])), [(0, "no_messages")]);
        assert_eq!(rules(&json!([{"id": "a", "role": "assistant", "parts": []}])), []);
        let cases = [
            (json!({"id": "a", "role": "user", "parts": []}), "no_parts"),
            (json!({"id": "a", "role": "user", "content": "x"}), "no_parts"),
            (
                json!({"id": "a", "role": "system", "parts": [{"type": "text", "text": ""}]}),
                "system_message",
            ),
            (json!({"role": "assistant", "parts": []}), "missing_id"),
        ];
        for (message, rule) in cases {
            assert_eq!(rules(&json!([message])), [(0, rule)], "{message}");
        }
    }

    #[test]
    fn parts_are_checked() {
        for part in [
            json!({"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}, "output": null}),
            json!({"type": "data-weather", "data": {}}),
            json!({"type": "step-start"}),
        ] {
            assert_eq!(rules(&agent(&part)), [], "{part}");
        }
        let cases = [
            (json!({"type": "tool-invocation"}), "unknown_part"),
            (json!({"type": "riddle"}), "unknown_part"),
            (json!({"type": "file", "url": "u"}), "invalid_part"),
            (
                json!({"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}}),
                "invalid_tool",
            ),
            (
                json!({"type": "tool-f", "toolCallId": "c", "state": "input-available"}),
                "invalid_tool",
            ),
            (
                json!({"type": "tool-f", "toolCallId": "c", "state": "approval-requested", "input": {},
                    "approval": {"id": "a", "approved": true}}),
                "invalid_tool",
            ),
            (
                json!({"type": "tool-f", "toolCallId": "c", "state": "done", "input": {}}),
                "invalid_tool",
            ),
        ];
        for (part, rule) in cases {
            assert_eq!(rules(&agent(&part)), [(0, rule)], "{part}");
        }
    }
}
