use serde_json::Value;

use crate::dialect::open_calls::{CallIds, OpenCalls};
use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

mod shape;
pub(super) use shape::is_reference;

/// Returns the rules that the items break, ordered by position.
///
/// An output may come anywhere after its call. Reasoning must be followed by what it led to.
pub(super) fn violations(items: &[Value]) -> Vec<Violation> {
    let mut validator = Validator::default();
    for (index, item) in items.iter().enumerate() {
        let problems = shape::problems(item).into_iter().chain(validator.pair_problem(index, item));
        let problems: Vec<_> =
            problems.chain(reasoning_problem(item, items.get(index + 1))).collect();
        validator.violations.report(index, problems);
    }
    validator.violations.extend(validator.open.take_unanswered("has no output"));
    validator.violations.into_sorted()
}

#[derive(Default)]
struct Validator<'a> {
    violations: ViolationList,
    /// The ids of all calls so far.
    calls: CallIds<'a>,
    /// The open calls: each is the type of the call and its id, in one text.
    open: OpenCalls<'a>,
}

impl<'a> Validator<'a> {
    fn pair_problem(&mut self, index: usize, item: &'a Value) -> Option<Problem> {
        let kind = item["type"].as_str()?;
        if shape::CALLS.contains(&kind) {
            let id = item["call_id"].as_str()?;
            self.open.open(index, id);
            return self.calls.add(id);
        }
        let call_kind = kind.strip_suffix("_output").filter(|kind| shape::CALLS.contains(kind))?;
        let field = if call_kind == "local_shell_call" { "id" } else { "call_id" };
        self.open.close_with_result(item[field].as_str()?)
    }
}

fn reasoning_problem(item: &Value, next: Option<&Value>) -> Option<Problem> {
    if item["type"] != "reasoning" {
        return None;
    }
    let is_said = next.is_some_and(|next| match next["type"].as_str() {
        None | Some("message") => next["role"] == "assistant",
        Some(kind) => !kind.ends_with("_output") && kind != "mcp_approval_response",
    });
    let detail = || "the reasoning is not followed by what it led to".to_owned();
    (!is_said).then(|| ("unfollowed_reasoning", detail()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(items: &Value) -> Vec<(usize, &'static str)> {
        let found = violations(items.as_array().unwrap());
        found.into_iter().map(|violation| (violation.index, violation.rule)).collect()
    }

    fn call(id: &str) -> Value {
        json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"})
    }

    fn output(id: &str) -> Value {
        json!({"type": "function_call_output", "call_id": id, "output": "done"})
    }

    #[test]
    fn an_output_comes_after_its_call() {
        let said = json!({"role": "user", "content": "hi"});
        assert_eq!(rules(&json!([call("a"), call("b"), said, output("b"), output("a")])), []);
        assert_eq!(rules(&json!([call("a")])), [(0, "unanswered_call")]);
        let early = json!([output("a"), call("a"), output("a"), output("a")]);
        assert_eq!(rules(&early), [(0, "orphan_result"), (3, "orphan_result")]);
        let twice = json!([call("a"), output("a"), call("a"), output("a")]);
        assert_eq!(rules(&twice), [(2, "duplicate_call_id")]);
    }

    #[test]
    fn reasoning_leads_to_something() {
        let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
        let answer = json!({"role": "assistant", "content": "hi"});
        assert_eq!(rules(&json!([reasoning, reasoning, answer])), []);
        assert_eq!(rules(&json!([reasoning, call("a"), output("a")])), []);
        let user = json!({"role": "user", "content": "hi"});
        assert_eq!(rules(&json!([reasoning, user])), [(0, "unfollowed_reasoning")]);
        assert_eq!(rules(&json!([reasoning])), [(0, "unfollowed_reasoning")]);
    }

    #[test]
    fn shapes_are_checked() {
        let part = |kind: &str| json!([{"type": kind, "text": "x"}]);
        let cases = [
            (json!(1), "not_an_object"),
            (json!({"content": "x"}), "unknown_item"),
            (json!({"type": "think", "id": "x"}), "unknown_item"),
            (json!({"role": "tool", "content": "x"}), "unknown_role"),
            (json!({"role": "user", "content": null}), "missing_content"),
            (json!({"role": "user", "content": 1}), "invalid_content"),
            (json!({"role": "user", "content": part("output_text")}), "unknown_block"),
            (json!({"role": "assistant", "content": part("input_text")}), "unknown_block"),
            (json!({"role": "user", "content": [{"type": "input_image"}]}), "unknown_block"),
            (json!({"role": "user", "content": [1]}), "invalid_content"),
            (json!({"role": "user", "content": "x", "phase": "first"}), "invalid_field"),
            (json!({"type": "reasoning", "summary": []}), "invalid_reasoning"),
            (json!({"type": "function_call", "name": "f", "arguments": "{}"}), "invalid_call"),
            (
                json!({"type": "function_call_output", "call_id": "", "output": "x"}),
                "missing_call_id",
            ),
            (json!({"type": "web_search_call"}), "invalid_item"),
        ];
        for (item, rule) in cases {
            assert_eq!(rules(&json!([item]))[0], (0, rule), "{item}");
        }
        let mut named = call("a");
        named["name"] = json!("a b");
        assert_eq!(rules(&json!([named, output("a")])), [(0, "invalid_name")]);
        let long = "i".repeat(65);
        assert_eq!(rules(&json!([call(&long), output(&long)])), [(0, "long_call_id")]);
    }
}
