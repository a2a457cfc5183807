use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::open_calls::OpenCalls;
use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

/// Returns the calls without results directly after them, and the results without calls.
///
/// A message that is not a result ends the exchange before it, so that only the calls of the last such
/// message can be open.
pub(super) fn violations(messages: &[Value]) -> ViolationList {
    let mut checker = PairChecker::default();
    for (index, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            checker.check_result(index, message["tool_call_id"].as_str());
        } else {
            checker.end_exchange();
            checker.begin_exchange(index, &message["tool_calls"]);
        }
    }
    checker.end_exchange();
    checker.violations
}

#[derive(Default)]
struct PairChecker<'a> {
    violations: ViolationList,
    /// The ids of all calls so far.
    seen: HashSet<&'a str>,
    /// The calls without results so far, of the last message that is not a result.
    unanswered: OpenCalls<'a>,
}

impl<'a> PairChecker<'a> {
    fn begin_exchange(&mut self, index: usize, calls: &'a Value) {
        for id in calls.as_array().into_iter().flatten().filter_map(|call| call["id"].as_str()) {
            if !self.seen.insert(id) {
                let detail = format!("the call id {id:?} was used before");
                self.violations.push(Violation::new(index, "duplicate_call_id", detail));
            }
            self.unanswered.open(index, id);
        }
    }

    fn check_result(&mut self, index: usize, call_id: Option<&str>) {
        let Some(id) = call_id else { return };
        if !self.unanswered.close(id) {
            let detail = format!("there is no open call {id:?} here");
            self.violations.push(Violation::new(index, "orphan_result", detail));
        }
    }

    fn end_exchange(&mut self) {
        for (caller, id) in self.unanswered.take() {
            let detail = format!("the call {id:?} has no result directly after it");
            self.violations.push(Violation::new(caller, "unanswered_call", detail));
        }
    }
}
