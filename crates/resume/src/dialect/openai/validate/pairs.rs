use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::found::Found;
use crate::dialect::open_calls::OpenCalls;
use crate::dialect::violation::Violation;

/// Returns where calls and results do not belong together.
///
/// Walks the messages with the calls that are still open in hand.
pub(super) fn violations(messages: &[Value]) -> Found {
    let mut walk = Walk::default();
    for (index, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            walk.answer(index, message["tool_call_id"].as_str());
        } else {
            walk.close();
            walk.open(index, &message["tool_calls"]);
        }
    }
    walk.close();
    walk.found
}

#[derive(Default)]
struct Walk<'a> {
    found: Found,
    /// Every id called so far.
    seen: HashSet<&'a str>,
    /// The calls of the last message with another role than `tool`, as far as not answered.
    unanswered: OpenCalls<'a>,
}

impl<'a> Walk<'a> {
    fn open(&mut self, index: usize, calls: &'a Value) {
        for id in calls.as_array().into_iter().flatten().filter_map(|call| call["id"].as_str()) {
            if !self.seen.insert(id) {
                let detail = format!("the call id {id:?} is not new");
                self.found.push(Violation::new(index, "duplicate_call_id", detail));
            }
            self.unanswered.open(index, id);
        }
    }

    fn answer(&mut self, index: usize, call_id: Option<&str>) {
        let Some(id) = call_id else { return };
        if !self.unanswered.close(id) {
            let detail = format!("no call {id:?} is open here");
            self.found.push(Violation::new(index, "orphan_result", detail));
        }
    }

    fn close(&mut self) {
        for (caller, id) in self.unanswered.take() {
            let detail = format!("the call {id:?} is not answered directly");
            self.found.push(Violation::new(caller, "unanswered_call", detail));
        }
    }
}
