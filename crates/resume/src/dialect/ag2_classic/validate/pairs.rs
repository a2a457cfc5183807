use serde_json::Value;

use crate::dialect::Violation;

/// Returns where calls and results do not belong together.
pub(super) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut caller = 0;
    for (index, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            for id in answered(message) {
                match open.iter().position(|call| Some(*call) == id) {
                    Some(position) => _ = open.swap_remove(position),
                    None => found.push(Violation::new(
                        index,
                        "orphan_result",
                        format!("no call {} is open here", id.unwrap_or_default()),
                    )),
                }
            }
            continue;
        }
        found.extend(unanswered(caller, &mut open));
        caller = index;
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.filter_map(|call| call["id"].as_str()));
    }
    found.extend(unanswered(caller, &mut open));
    found
}

/// Returns the calls that a message answers.
fn answered(message: &Value) -> Vec<Option<&str>> {
    match message["tool_responses"].as_array() {
        Some(responses) => responses.iter().map(|it| it["tool_call_id"].as_str()).collect(),
        None => vec![message["tool_call_id"].as_str()],
    }
}

fn unanswered(caller: usize, open: &mut Vec<&str>) -> Vec<Violation> {
    let detail = |id: &str| format!("the call {id:?} is not answered directly");
    let calls = open.drain(..);
    calls.map(|id| Violation::new(caller, "unanswered_call", detail(id))).collect()
}
