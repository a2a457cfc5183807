use serde_json::Value;

use crate::dialect::open_calls::{CallIds, OpenCalls};
use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

mod part;

/// Returns the rules that the messages break, ordered by position.
///
/// The requests after a response answer all of its calls before the next response.
pub(super) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut validator = Validator::default();
    for (index, message) in messages.iter().enumerate() {
        validator.check(index, message);
    }
    validator.end_exchange();
    validator.violations.into_sorted()
}

#[derive(Default)]
struct Validator<'a> {
    violations: ViolationList,
    /// The ids of all calls so far.
    calls: CallIds<'a>,
    /// The calls of the last response that have no result so far.
    open: OpenCalls<'a>,
}

impl<'a> Validator<'a> {
    fn check(&mut self, index: usize, message: &'a Value) {
        let kind = message["kind"].as_str().unwrap_or_default();
        if kind != "request" && kind != "response" {
            let detail = format!("there is no kind {}", message["kind"]);
            return self.violations.push(Violation::new(index, "unknown_kind", detail));
        }
        let Some(parts) = message["parts"].as_array() else {
            let detail = "the parts are not a list";
            return self.violations.push(Violation::new(index, "missing_parts", detail));
        };
        if kind == "response" {
            self.end_exchange();
        }
        for part in parts {
            self.violations.report(index, part::problem(kind, part));
            self.check_pair(index, part);
        }
    }

    fn check_pair(&mut self, index: usize, part: &'a Value) {
        let Some(id) = part["tool_call_id"].as_str() else { return };
        match part["part_kind"].as_str() {
            Some("tool-call") => {
                self.violations.report(index, self.calls.add(id));
                self.open.open(index, id);
            }
            Some("tool-return") => self.check_result(index, id),
            // Without a function, it is about the whole response.
            Some("retry-prompt") if part["tool_name"].is_string() => self.check_result(index, id),
            _ => {}
        }
    }

    fn check_result(&mut self, index: usize, id: &str) {
        self.violations.report(index, self.open.close_with_result(id));
    }

    fn end_exchange(&mut self) {
        let unanswered = self.open.take_unanswered("has no result before the next response");
        self.violations.extend(unanswered);
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

    fn response(parts: &Value) -> Value {
        json!({"kind": "response", "parts": parts})
    }

    fn request(parts: &Value) -> Value {
        json!({"kind": "request", "parts": parts})
    }

    fn call(id: &str) -> Value {
        json!({"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": id})
    }

    fn result(id: &str) -> Value {
        json!({"part_kind": "tool-return", "tool_name": "f", "content": 1, "tool_call_id": id})
    }

    #[test]
    fn the_next_requests_answer_all_calls() {
        let prompt = json!({"part_kind": "user-prompt", "content": "hi"});
        let caller = response(&json!([call("a"), call("b")]));
        let answers =
            json!([caller, request(&json!([prompt, result("b")])), request(&json!([result("a")]))]);
        assert_eq!(rules(&answers), []);
        assert_eq!(rules(&json!([caller])), [(0, "unanswered_call"), (0, "unanswered_call")]);
        let late = json!([
            response(&json!([call("a")])),
            response(&json!([])),
            request(&json!([result("a")]))
        ]);
        assert_eq!(rules(&late), [(0, "unanswered_call"), (2, "orphan_result")]);
        let one = response(&json!([call("a")]));
        let answer = request(&json!([result("a")]));
        assert_eq!(rules(&json!([one, answer, one, answer])), [(2, "duplicate_call_id")]);
        let mut retry = result("a");
        retry["part_kind"] = json!("retry-prompt");
        retry["content"] = json!("no");
        assert_eq!(rules(&json!([one, request(&json!([retry]))])), []);
    }

    #[test]
    fn shapes_are_checked() {
        let binary =
            |data: &str| json!([{"kind": "binary", "data": data, "media_type": "image/png"}]);
        let prompt = |content: Value| json!({"part_kind": "user-prompt", "content": content});
        let cases = [
            (json!(1), "unknown_kind"),
            (json!({"kind": "answer", "parts": []}), "unknown_kind"),
            (json!({"kind": "request"}), "missing_parts"),
            (request(&json!([{"part_kind": "text", "content": "x"}])), "unknown_part"),
            (response(&json!([prompt(json!("x"))])), "unknown_part"),
            (request(&json!([prompt(json!(null))])), "invalid_content"),
            (
                request(&json!([prompt(binary("iVBO").take()), prompt(binary("iV"))])),
                "invalid_content",
            ),
            (request(&json!([prompt(json!([{"kind": "movie"}]))])), "invalid_content"),
            (response(&json!([{"part_kind": "text", "content": ["x"]}])), "invalid_content"),
            (response(&json!([{"part_kind": "tool-call", "tool_call_id": "a"}])), "invalid_call"),
            (response(&json!([{"part_kind": "file", "content": "x"}])), "invalid_content"),
        ];
        for (message, rule) in cases {
            assert_eq!(rules(&json!([message]))[0], (0, rule), "{message}");
        }
    }
}
