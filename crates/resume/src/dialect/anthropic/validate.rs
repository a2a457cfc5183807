use serde_json::Value;

use super::server_tools;
use crate::canonical::is_empty_value;
use crate::dialect::turn_pairs::{self, PairedBlock};
use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

mod limits;
pub(super) use limits::violations as provider_violations;

mod shape;

/// Returns the rules that the messages break, ordered by position.
pub(super) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    for (index, message) in messages.iter().enumerate() {
        let mut problems = shape::problems(message);
        // The last message may be an answer that has only begun.
        if index + 1 == messages.len() && is_empty_answer(message) {
            problems.retain(|(rule, _)| !["missing_content", "blank_text"].contains(rule));
        }
        violations.report(index, problems);
    }
    let mut across_messages = turn_pairs::violations(messages, read_paired);
    across_messages.extend(end_violations(messages));
    across_messages.extend(server_tools::unpaired(messages).into_sorted());
    violations.merged_with(across_messages)
}

fn is_empty_answer(message: &Value) -> bool {
    message["role"] == "assistant" && is_empty_value(&message["content"])
}

fn read_paired(block: &Value) -> PairedBlock<'_> {
    match block["type"].as_str() {
        Some("tool_use") => PairedBlock::Call(block["id"].as_str().unwrap_or_default()),
        Some("tool_result") => PairedBlock::Result(block["tool_use_id"].as_str()),
        _ => PairedBlock::Other,
    }
}

/// Checks the first message, the last message and the number of messages.
fn end_violations(messages: &[Value]) -> Vec<Violation> {
    const MAX_MESSAGES: usize = 100_000;
    let mut violations = Vec::new();
    if messages.first().is_some_and(|first| first["role"] != "user") {
        violations.push(Violation::new(
            0,
            "first_not_user",
            "the first message does not have the role user",
        ));
    }
    // A provider goes on with a tool of its own.
    let is_paused = |last: &Value| {
        last["role"] == "assistant"
            && last["content"].as_array().is_some_and(|it| server_tools::last_call(it).is_some())
    };
    // An instruction at the end is one for the turn of the user before it.
    let speaker = messages.iter().rfind(|message| message["role"] != "system");
    let last = speaker.or(messages.last());
    if last.is_some_and(|last| last["role"] != "user" && !is_paused(last)) {
        let last = messages.len() - 1;
        violations.push(Violation::new(
            last,
            "last_not_user",
            "the last message does not have the role user",
        ));
    }
    if messages.len() > MAX_MESSAGES {
        violations.push(Violation::new(
            MAX_MESSAGES,
            "too_many_messages",
            "there are more than 100,000 messages",
        ));
    }
    violations
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(messages: &Value) -> Vec<(usize, &'static str)> {
        let found = violations(messages.as_array().unwrap());
        found.into_iter().map(|violation| (violation.index, violation.rule)).collect()
    }

    fn message(role: &str, block: &Value) -> Value {
        json!({"role": role, "content": [block]})
    }

    fn call(id: &str) -> Value {
        json!({"type": "tool_use", "id": id, "name": "f", "input": {}})
    }

    fn result(id: &str) -> Value {
        json!({"type": "tool_result", "tool_use_id": id, "content": "done"})
    }

    #[test]
    fn a_result_is_in_the_next_user_message_before_any_text() {
        let user = json!({"role": "user", "content": "hi"});
        let good = json!([user, message("assistant", &call("a")), message("user", &result("a"))]);
        assert_eq!(rules(&good), []);
        let text = json!({"type": "text", "text": "and"});
        let late = json!({"role": "user", "content": [text, result("a")]});
        let found = rules(&json!([user, message("assistant", &call("a")), late]));
        assert_eq!(found, [(2, "result_after_text")]);
        let none = json!([user, message("assistant", &call("a")), user]);
        assert_eq!(rules(&none), [(1, "unanswered_call")]);
        let orphan = json!([user, message("assistant", &text), message("user", &result("a"))]);
        assert_eq!(rules(&orphan), [(2, "orphan_result")]);
        let again = [message("assistant", &call("a")), message("user", &result("a"))];
        let twice = json!([[user].to_vec(), again.to_vec(), again.to_vec()].concat());
        assert_eq!(rules(&twice), [(3, "duplicate_call_id")]);
    }

    #[test]
    fn the_user_speaks_first_and_last() {
        let agent = message("assistant", &json!({"type": "text", "text": "hi"}));
        assert_eq!(rules(&json!([agent])), [(0, "first_not_user"), (0, "last_not_user")]);
    }

    #[test]
    fn shapes_are_checked() {
        let cases = [
            (json!(1), "not_an_object"),
            (json!({"role": "user", "content": "x", "name": "a"}), "unknown_field"),
            (json!({"role": "user", "content": " "}), "blank_text"),
            (json!({"role": "user", "content": []}), "missing_content"),
            (json!({"role": "user", "content": 1}), "invalid_content"),
            (message("user", &json!(1)), "invalid_block"),
            (message("user", &json!({"type": "text", "text": "\n"})), "blank_text"),
            (message("user", &json!({"type": "riddle"})), "unknown_block"),
            (json!({"role": "system", "content": "x"}), "system_message"),
            (message("system", &json!({"type": "text", "text": " "})), "blank_text"),
            (message("system", &json!({"type": "image"})), "unknown_block"),
            (json!({"role": "developer", "content": "x"}), "unknown_role"),
            (
                message("user", &json!({"type": "thinking", "thinking": "x", "signature": "s"})),
                "unknown_block",
            ),
        ];
        for (message, rule) in cases {
            let found = rules(
                &json!([{"role": "user", "content": "x"}, message, {"role": "user", "content": "x"}]),
            );
            assert!(found.contains(&(1, rule)), "{message}: {found:?}");
        }
        let cases = [
            (json!({"type": "thinking", "thinking": "x"}), "unsigned_thinking"),
            (
                json!({"type": "tool_use", "id": "a b", "name": "f", "input": {}}),
                "call_not_accepted",
            ),
            (
                json!({"type": "tool_use", "id": "a", "name": "f f", "input": {}}),
                "call_not_accepted",
            ),
            (
                json!({"type": "tool_use", "id": "a", "name": "f", "input": "{}"}),
                "call_not_accepted",
            ),
            (json!({"type": "tool_use", "id": "a", "input": {}}), "invalid_call"),
            (
                json!({"type": "server_tool_use", "id": "a", "name": "f", "input": {}}),
                "unpaired_server_tool",
            ),
        ];
        let user = json!({"role": "user", "content": "x"});
        for (block, rule) in cases {
            let found = rules(&json!([user, message("assistant", &block), user]));
            assert!(found.contains(&(1, rule)), "{block}: {found:?}");
        }
    }
}
