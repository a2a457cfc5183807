use serde_json::Value;

use crate::dialect::open_calls::{CallIds, OpenCalls};
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
    /// The calls without results so far, of the last message that is not a result.
    unanswered: OpenCalls<'a>,
}

impl<'a> PairChecker<'a> {
    fn begin_exchange(&mut self, index: usize, calls: &'a Value) {
        // A later message may use an id again.
        let mut seen = CallIds::default();
        for id in calls.as_array().into_iter().flatten().filter_map(|call| call["id"].as_str()) {
            self.violations.report(index, seen.add(id));
            self.unanswered.open(index, id);
        }
    }

    fn check_result(&mut self, index: usize, call_id: Option<&str>) {
        let problem = call_id.and_then(|id| self.unanswered.close_with_result(id));
        self.violations.report(index, problem);
    }

    fn end_exchange(&mut self) {
        let unanswered = self.unanswered.take_unanswered("has no result directly after it");
        self.violations.extend(unanswered);
    }
}
