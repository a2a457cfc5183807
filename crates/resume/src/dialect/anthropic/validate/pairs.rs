use serde_json::Value;

use crate::dialect::open_calls::{CallIds, OpenCalls};
use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

/// Returns the calls without results in the next turn, and the results without calls.
///
/// Neighbouring messages of one role are one turn, as the API joins them. The results must be in the
/// turn after the calls, before anything else in it.
pub(super) fn violations(messages: &[Value]) -> ViolationList {
    let mut checker = PairChecker::default();
    let mut role = &Value::Null;
    for (index, message) in messages.iter().enumerate() {
        if message["role"] != *role {
            role = &message["role"];
            checker.begin_turn();
        }
        for block in message["content"].as_array().into_iter().flatten() {
            checker.check_block(index, block);
        }
    }
    // The first call ends the last turn; the second one reports its calls, which no turn follows.
    checker.begin_turn();
    checker.begin_turn();
    checker.violations
}

#[derive(Default)]
struct PairChecker<'a> {
    violations: ViolationList,
    /// The ids of all calls so far.
    seen: CallIds<'a>,
    /// The calls of this turn.
    current: OpenCalls<'a>,
    /// The calls of the previous turn without results so far.
    open: OpenCalls<'a>,
    /// Whether this turn has a block that is neither a call nor a result.
    has_other_block: bool,
}

impl<'a> PairChecker<'a> {
    fn begin_turn(&mut self) {
        self.violations.extend(self.open.take_unanswered("has no result in the next turn"));
        self.open = std::mem::take(&mut self.current);
        self.has_other_block = false;
    }

    fn check_block(&mut self, index: usize, block: &'a Value) {
        match block["type"].as_str() {
            Some("tool_use") => self.check_call(index, block["id"].as_str().unwrap_or_default()),
            Some("tool_result") => self.check_result(index, block["tool_use_id"].as_str()),
            _ => self.has_other_block = true,
        }
    }

    fn check_call(&mut self, index: usize, id: &'a str) {
        self.violations.report(index, self.seen.add(id));
        self.current.open(index, id);
    }

    fn check_result(&mut self, index: usize, id: Option<&str>) {
        if self.has_other_block {
            let detail = "a result comes after a block that is not a result";
            self.violations.push(Violation::new(index, "result_after_text", detail));
        }
        if !id.is_some_and(|id| self.open.close(id)) {
            let detail = format!("there is no open call {id:?} here");
            self.violations.push(Violation::new(index, "orphan_result", detail));
        }
    }
}
