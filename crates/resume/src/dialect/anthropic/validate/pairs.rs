use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::found::Found;
use crate::dialect::open_calls::OpenCalls;
use crate::dialect::violation::Violation;

/// Returns where calls and results do not belong together.
///
/// Neighbours of one role are one turn: the results must be in the turn after the calls, before
/// anything else there.
pub(super) fn violations(messages: &[Value]) -> Found {
    let mut walk = Walk::default();
    let mut role = &Value::Null;
    for (index, message) in messages.iter().enumerate() {
        if message["role"] != *role {
            role = &message["role"];
            walk.turn();
        }
        for block in message["content"].as_array().into_iter().flatten() {
            walk.block(index, block);
        }
    }
    walk.turn();
    walk.turn();
    walk.found
}

#[derive(Default)]
struct Walk<'a> {
    found: Found,
    seen: HashSet<&'a str>,
    /// The calls of this turn.
    called: OpenCalls<'a>,
    /// The calls of the turn before, as far as not answered.
    open: OpenCalls<'a>,
    has_said: bool,
}

impl<'a> Walk<'a> {
    fn turn(&mut self) {
        for (caller, id) in self.open.take() {
            let detail = format!("the call {id:?} is not answered in the next turn");
            self.found.push(Violation::new(caller, "unanswered_call", detail));
        }
        self.open = std::mem::take(&mut self.called);
        self.has_said = false;
    }

    fn block(&mut self, index: usize, block: &'a Value) {
        match block["type"].as_str() {
            Some("tool_use") => self.call(index, block["id"].as_str().unwrap_or_default()),
            Some("tool_result") => self.answer(index, block["tool_use_id"].as_str()),
            _ => self.has_said = true,
        }
    }

    fn call(&mut self, index: usize, id: &'a str) {
        if !self.seen.insert(id) {
            let detail = format!("the call id {id:?} is not new");
            self.found.push(Violation::new(index, "duplicate_call_id", detail));
        }
        self.called.open(index, id);
    }

    fn answer(&mut self, index: usize, id: Option<&str>) {
        if self.has_said {
            let detail = "a result stands behind something else";
            self.found.push(Violation::new(index, "result_after_text", detail));
        }
        if !id.is_some_and(|id| self.open.close(id)) {
            let detail = format!("no call {id:?} is open here");
            self.found.push(Violation::new(index, "orphan_result", detail));
        }
    }
}
