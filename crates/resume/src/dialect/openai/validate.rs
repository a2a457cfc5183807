use serde_json::Value;

use super::content::ADDED_MEDIA;
use super::own_fields::{ADDED, is_added};
use crate::dialect::parsed::text_part;
use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

mod calls;
mod limits;
pub(super) use limits::{of_other_providers, violations as provider_violations};

mod pairs;
mod shape;

/// Returns the rules that the messages break, ordered by position.
pub(super) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    for (index, message) in messages.iter().enumerate() {
        violations.report(index, shape::problems(message));
    }
    violations.merged_with(pairs::violations(messages))
}

/// Returns the messages without the fields that other providers added to the format.
pub(super) fn without_added_fields(messages: &[Value]) -> Vec<Value> {
    let mut messages = messages.to_vec();
    for message in messages.iter_mut().filter_map(Value::as_object_mut) {
        if message.get("reasoning_content").is_some_and(Value::is_string) {
            message.shift_remove("reasoning_content");
        }
        if message.get("role").is_some_and(|role| role == "user") {
            let parts = message.get_mut("content").and_then(Value::as_array_mut);
            for part in parts.into_iter().flatten().filter(|part| is_added_media(part)) {
                *part = text_part("media");
            }
        }
        if message.get("role").is_some_and(|role| role == "tool") {
            message.get_mut("name").map(without_mark);
        }
        for field in ADDED {
            if message.get(field).is_some_and(|value| is_added(field, value)) {
                message.shift_remove(field);
            }
        }
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten().filter_map(Value::as_object_mut) {
            for field in ["extra_content", "provider_specific_fields"] {
                if call.get(field).is_some_and(Value::is_object) {
                    call.shift_remove(field);
                }
            }
            if call.get("type").is_some_and(|kind| kind == "builtin_function") {
                call.insert("type".to_owned(), "function".into());
                let function = call.get_mut("function");
                function.and_then(|function| function.get_mut("name")).map(without_mark);
            }
        }
    }
    messages
}

fn is_added_media(part: &Value) -> bool {
    let kind = part["type"].as_str().filter(|kind| ADDED_MEDIA.contains(kind));
    kind.is_some_and(|kind| part[kind]["url"].is_string())
}

/// Removes the mark of a built-in function of Kimi from its name.
fn without_mark(name: &mut Value) {
    if let Some(rest) = name.as_str().and_then(|name| name.strip_prefix('$')) {
        *name = rest.into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(messages: &Value) -> Vec<(usize, &'static str)> {
        let found = violations(messages.as_array().unwrap());
        found.into_iter().map(|violation| (violation.index, violation.rule)).collect()
    }

    fn call(id: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
    }

    fn caller(ids: &[&str]) -> Value {
        let calls: Vec<_> = ids.iter().map(|id| call(id)).collect();
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    }

    fn result(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": "done"})
    }

    #[test]
    fn results_directly_after_their_calls_may_have_any_order() {
        let user = json!({"role": "user", "name": "Bob", "content": "hi"});
        let messages = json!([user, caller(&["a", "b"]), result("b"), result("a"), user]);
        assert_eq!(rules(&messages), []);
    }

    #[test]
    fn pairs_are_checked() {
        let user = json!({"role": "user", "content": "hi"});
        assert_eq!(rules(&json!([result("a")])), [(0, "orphan_result")]);
        assert_eq!(rules(&json!([caller(&["a"])])), [(0, "unanswered_call")]);
        let interrupted = json!([caller(&["a", "b"]), result("a"), user, result("b")]);
        assert_eq!(rules(&interrupted), [(0, "unanswered_call"), (3, "orphan_result")]);
        let twice = json!([caller(&["a"]), result("a"), result("a")]);
        assert_eq!(rules(&twice), [(2, "orphan_result")]);
        let same = json!([caller(&["a", "a"]), result("a"), result("a")]);
        assert_eq!(rules(&same), [(0, "duplicate_call_id")]);
        let reused = json!([caller(&["a"]), result("a"), caller(&["a"]), result("a")]);
        assert_eq!(rules(&reused), []);
    }

    #[test]
    fn an_answer_may_come_back_as_the_provider_sent_it() {
        let answer = json!({
            "role": "assistant", "content": "Done.", "refusal": null, "annotations": [],
        });
        assert_eq!(rules(&json!([answer])), []);
    }

    #[test]
    fn shapes_are_checked() {
        let cases = [
            (json!(1), "not_an_object"),
            (json!({"role": "human", "content": ""}), "unknown_role"),
            (json!({"role": "user", "content": "", "sequence": 1}), "unknown_field"),
            (json!({"role": "user", "name": "a b", "content": ""}), "invalid_name"),
            (json!({"role": "function", "content": ""}), "invalid_name"),
            (json!({"role": "user", "content": null}), "missing_content"),
            (json!({"role": "assistant", "content": null}), "missing_content"),
            (json!({"role": "system", "content": {"a": 1}}), "invalid_content"),
            (
                json!({"role": "user", "content": [{"type": "refusal", "refusal": ""}]}),
                "unknown_block",
            ),
            (json!({"role": "user", "content": [1]}), "invalid_content"),
            (json!({"role": "user", "content": []}), "missing_content"),
            (json!({"role": "tool", "content": ""}), "missing_call_id"),
            (json!({"role": "assistant", "content": "", "refusal": 1}), "invalid_refusal"),
            (json!({"role": "assistant", "content": "", "tool_calls": []}), "invalid_calls"),
            (json!({"role": "assistant", "content": "", "tool_calls": null}), "invalid_calls"),
        ];
        for (message, rule) in cases {
            assert_eq!(rules(&json!([message])), [(0, rule)], "{message}");
        }
    }

    #[test]
    fn calls_are_checked() {
        let good = call("a");
        let changes = [
            ("/id", json!("")),
            ("/type", json!("tool")),
            ("/function/name", json!("")),
            ("/function/arguments", json!({})),
        ];
        for (pointer, value) in changes {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).unwrap() = value;
            let message = json!({"role": "assistant", "content": "", "tool_calls": [bad]});
            let found = rules(&json!([message, result("a")]));
            assert!(found.contains(&(0, "invalid_calls")), "{pointer}: {found:?}");
        }
        let mut named = good.clone();
        named["function"]["name"] = json!("a b");
        let message = json!({"role": "assistant", "content": "", "tool_calls": [named]});
        assert_eq!(rules(&json!([message, result("a")])), [(0, "invalid_name")]);
        for (count, found) in [(40, &[][..]), (41, &[(0, "long_call_id")])] {
            let id = "é".repeat(count);
            assert_eq!(rules(&json!([caller(&[&id]), result(&id)])), found);
        }
        let target = json!({"name": "f", "arguments": "{}"});
        let mut both = caller(&["a"]);
        both["function_call"] = target;
        assert_eq!(rules(&json!([both, result("a")])), [(0, "both_kinds_of_calls")]);
    }
}
