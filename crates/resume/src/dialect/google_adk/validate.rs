use serde_json::Value;

use crate::dialect::open_calls::{CallIds, OpenCalls};
use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

mod event;
mod part;

/// Returns the rules that the events break, ordered by position.
///
/// A result may come anywhere after its call: the library moves it there, and of several results the last one. It leaves out
/// results without calls, and calls without results, unless they are of long-running tools.
pub(super) fn violations(events: &[Value]) -> Vec<Violation> {
    let mut validator = Validator::of(events);
    validator.violations.extend(validator.open.take_unanswered("has no result"));
    validator.violations.into_sorted()
}

/// Returns the calls of long-running tools that have no result so far.
pub(super) fn waiting(events: &[Value]) -> Vec<Violation> {
    let detail = |id: &str| format!("the call {id:?} waits for its result");
    let waiting = Validator::of(events).waiting.take();
    let mut violations = ViolationList::default();
    violations
        .extend(waiting.map(|(index, id)| Violation::new(index, "missing_result", detail(id))));
    violations.into_sorted()
}

#[derive(Default)]
struct Validator<'a> {
    violations: ViolationList,
    /// The ids of all calls so far.
    calls: CallIds<'a>,
    /// The calls without results, but for those of long-running tools.
    open: OpenCalls<'a>,
    waiting: OpenCalls<'a>,
}

impl<'a> Validator<'a> {
    fn of(events: &'a [Value]) -> Self {
        let mut validator = Self::default();
        for (index, event) in events.iter().enumerate() {
            validator.violations.report(index, event::problems(event));
            validator.check_pairs(index, event);
        }
        validator
    }

    fn check_pairs(&mut self, index: usize, event: &'a Value) {
        let long_running = event["longRunningToolIds"].as_array();
        for part in event["content"]["parts"].as_array().into_iter().flatten() {
            let call_id = &part["functionCall"]["id"];
            if let Some(id) = call_id.as_str() {
                self.violations.report(index, self.calls.add(id));
                let may_wait = long_running.is_some_and(|ids| ids.contains(call_id));
                let calls = if may_wait { &mut self.waiting } else { &mut self.open };
                calls.open(index, id);
            }
            if let Some(id) = part["functionResponse"]["id"].as_str()
                && !self.waiting.close(id)
            {
                let problem = self.open.close_with_result(id);
                self.violations.report(index, problem.filter(|_| !self.calls.contains(id)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(events: &Value) -> Vec<(usize, &'static str)> {
        let found = violations(events.as_array().unwrap());
        found.into_iter().map(|violation| (violation.index, violation.rule)).collect()
    }

    fn event(id: &str, role: &str, part: &Value) -> Value {
        json!({"id": id, "author": "guide", "content": {"role": role, "parts": [part]}})
    }

    #[test]
    fn a_result_comes_after_its_call() {
        let call = event("1", "model", &json!({"functionCall": {"id": "a", "name": "f"}}));
        let user = event("2", "user", &json!({"text": "hi"}));
        let response = json!({"functionResponse": {"id": "a", "name": "f", "response": {}}});
        let result = event("3", "user", &response);
        assert_eq!(rules(&json!([call, user, result])), []);
        assert_eq!(rules(&json!([call])), [(0, "unanswered_call")]);
        assert_eq!(rules(&json!([result])), [(0, "orphan_result")]);
        let other = event("4", "model", &json!({"functionCall": {"id": "a", "name": "f"}}));
        let again = event("5", "user", &response);
        assert_eq!(rules(&json!([call, result, other, again])), [(2, "duplicate_call_id")]);
    }

    #[test]
    fn shapes_are_checked() {
        let with = |field: &str, value: Value| json!({"id": "1", "author": "a", field: value});
        let part = |part: Value| event("1", "model", &part);
        let cases = [
            (json!(1), "not_an_object"),
            (json!({"id": "1"}), "unknown_role"),
            (json!({"id": "1", "content": {"role": "user"}}), "invalid_name"),
            (json!({"author": "a"}), "missing_id"),
            (with("content", json!("x")), "invalid_content"),
            (with("content", json!({"parts": "x"})), "invalid_content"),
            (event("1", "system", &json!({"text": "x"})), "unknown_role"),
            (with("timestamp", json!("x")), "unknown_field"),
            (with("message", json!("x")), "unknown_field"),
            (with("actions", json!({"leap": true})), "unknown_field"),
            (with("actions", json!([])), "unknown_field"),
            (with("nodeInfo", json!(1)), "unknown_field"),
            (with("longRunningToolIds", json!("a")), "unknown_field"),
            (part(json!("x")), "invalid_part"),
            (part(json!({})), "invalid_part"),
            (part(json!({"text": 1})), "invalid_part"),
            (part(json!({"inlineData": {"mimeType": "image/png", "data": "i"}})), "invalid_part"),
            (part(json!({"fileData": {}})), "invalid_part"),
            (part(json!({"text": "x", "colour": 1})), "unknown_field"),
            (part(json!({"text": "x", "thoughtSignature": "?"})), "unknown_field"),
            (part(json!({"functionCall": {"id": "a"}})), "invalid_call"),
            (part(json!({"functionCall": {"id": "a", "name": "f", "args": 1}})), "invalid_call"),
            (part(json!({"functionResponse": {"response": {}}})), "invalid_response"),
            (part(json!({"functionResponse": {"id": "a", "response": 1}})), "invalid_response"),
        ];
        for (event, rule) in cases {
            assert_eq!(rules(&json!([event]))[0], (0, rule), "{event}");
        }
    }
}
