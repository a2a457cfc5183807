use serde_json::Value;

use crate::dialect::found::Found;
use crate::dialect::open_calls::OpenCalls;
use crate::dialect::violation::Violation;

/// Returns where calls and results do not belong together.
pub(super) fn violations(messages: &[Value]) -> Found {
    let mut found = Found::default();
    let mut open = OpenCalls::default();
    for (index, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            for id in answered(message) {
                if !id.is_some_and(|id| open.close(id)) {
                    let detail = format!("no call {} is open here", id.unwrap_or_default());
                    found.push(Violation::new(index, "orphan_result", detail));
                }
            }
            continue;
        }
        found.extend(unanswered(&mut open));
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        for id in calls.filter_map(|call| call["id"].as_str()) {
            open.open(index, id);
        }
    }
    found.extend(unanswered(&mut open));
    found
}

/// Returns the calls that a message answers.
fn answered(message: &Value) -> Vec<Option<&str>> {
    match message["tool_responses"].as_array() {
        Some(responses) => responses.iter().map(|it| it["tool_call_id"].as_str()).collect(),
        None => vec![message["tool_call_id"].as_str()],
    }
}

fn unanswered(open: &mut OpenCalls<'_>) -> impl Iterator<Item = Violation> {
    let detail = |id: &str| format!("the call {id:?} is not answered directly");
    open.take().map(move |(caller, id)| Violation::new(caller, "unanswered_call", detail(id)))
}
