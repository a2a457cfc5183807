use serde_json::Value;

use crate::dialect::open_calls::OpenCalls;
use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

const UNANSWERED: &str = "has no result directly after it";

/// Returns the calls without results directly after them, and the results without calls.
///
/// A message that is not a result ends the exchange before it, so that only the calls of the last such
/// message can be open.
pub(super) fn violations(messages: &[Value]) -> ViolationList {
    let mut violations = ViolationList::default();
    let mut open = OpenCalls::default();
    for (index, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            for id in answered_ids(message) {
                if !id.is_some_and(|id| open.close(id)) {
                    let detail = format!("there is no open call {} here", id.unwrap_or_default());
                    violations.push(Violation::new(index, "orphan_result", detail));
                }
            }
            continue;
        }
        violations.extend(open.take_unanswered(UNANSWERED));
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        for id in calls.filter_map(|call| call["id"].as_str()) {
            open.open(index, id);
        }
    }
    violations.extend(open.take_unanswered(UNANSWERED));
    violations
}

/// Returns the ids of the calls that a message answers; `None` for a result without an id.
fn answered_ids(message: &Value) -> Vec<Option<&str>> {
    match message["tool_responses"].as_array() {
        Some(responses) => responses.iter().map(|it| it["tool_call_id"].as_str()).collect(),
        None => vec![message["tool_call_id"].as_str()],
    }
}
