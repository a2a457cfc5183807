//! The pairs of calls and results, in formats that have them as blocks of turns.

use serde_json::Value;

use super::open_calls::{CallIds, OpenCalls};
use super::violation::Violation;
use super::violation_list::ViolationList;

/// What a block of a message is to the pairs of calls and results.
#[derive(Debug, Clone, Copy)]
pub(super) enum PairedBlock<'a> {
    /// A call with this id.
    Call(&'a str),
    /// The result of the call with this id, if it names one.
    Result(Option<&'a str>),
    /// The result of the call with this id, which the provider has served itself: it is in the turn of the call.
    Served(&'a str),
    /// Neither.
    Other,
}

/// Returns the calls without results in the next turn, and the results without calls.
///
/// Neighbouring messages of one role are one turn, as the API joins them. The results must be in the
/// turn after the calls, before anything else in it; `read` says which blocks those are.
pub(super) fn violations(messages: &[Value], read: fn(&Value) -> PairedBlock<'_>) -> ViolationList {
    let mut checker = PairChecker::default();
    let mut role = &Value::Null;
    for (index, message) in messages.iter().enumerate() {
        if message["role"] != *role {
            role = &message["role"];
            checker.begin_turn();
        }
        for block in message["content"].as_array().into_iter().flatten() {
            checker.check_block(index, read(block));
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

    fn check_block(&mut self, index: usize, block: PairedBlock<'a>) {
        match block {
            PairedBlock::Call(id) => self.check_call(index, id),
            PairedBlock::Result(id) => self.check_result(index, id),
            PairedBlock::Served(id) => self.check_served(index, id),
            PairedBlock::Other => self.has_other_block = true,
        }
    }

    fn check_call(&mut self, index: usize, id: &'a str) {
        self.violations.report(index, self.seen.add(id));
        self.current.open(index, id);
    }

    fn check_served(&mut self, index: usize, id: &str) {
        self.has_other_block = true;
        if !self.current.close(id) {
            let detail = format!("there is no call {id:?} before it in the turn");
            self.violations.push(Violation::new(index, "orphan_result", detail));
        }
    }

    fn check_result(&mut self, index: usize, id: Option<&str>) {
        if self.has_other_block {
            let detail = "a result comes after a block that is not a result";
            self.violations.push(Violation::new(index, "result_after_text", detail));
        }
        if !id.is_some_and(|id| self.open.close(id)) {
            let detail = format!("there is no open call {:?} here", id.unwrap_or_default());
            self.violations.push(Violation::new(index, "orphan_result", detail));
        }
    }
}
