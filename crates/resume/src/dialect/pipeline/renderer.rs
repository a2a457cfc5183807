use std::collections::{BTreeMap, HashSet};
use std::mem;

use super::call_ids::CallIdAllocator;
use super::matching::{CallDecision, ResultMatcher};
use super::names::NameSanitiser;
use super::rules::DialectRules;
use super::writer::MessageWriter;
use crate::canonical::{CanonicalMessage, Role};
use crate::rendered::Rendered;
use crate::{DropReason, UnsettledCall, UnsettledPolicy};

/// The second pass: renders messages one by one, with what the scan found.
#[derive(Debug)]
pub(super) struct ToolCallRenderer {
    pub(super) rules: &'static DialectRules,
    writer: Box<dyn MessageWriter>,
    unanswered: UnansweredCalls,
    matcher: ResultMatcher,
    call_ids: CallIdAllocator,
    /// The original of each call id that was changed.
    original_ids: BTreeMap<String, String>,
    names: NameSanitiser,
}

/// The calls that the scan found without a result directly after their message.
#[derive(Debug)]
pub(super) struct UnansweredCalls {
    pub(super) policy: UnsettledPolicy,
    /// The sequences of the messages that make such calls.
    ///
    /// They are sequences, not positions: positions change if a window begins later.
    pub(super) callers: HashSet<u64>,
    /// The rejected calls; if there are any, nothing is rendered.
    pub(super) rejected: Vec<UnsettledCall>,
}

impl ToolCallRenderer {
    pub(super) fn new(
        rules: &'static DialectRules,
        writer: Box<dyn MessageWriter>,
        unanswered: UnansweredCalls,
        call_ids: CallIdAllocator,
        names: NameSanitiser,
    ) -> Self {
        let matcher = ResultMatcher::new(unanswered.policy);
        let original_ids = BTreeMap::new();
        Self { rules, writer, unanswered, matcher, call_ids, original_ids, names }
    }

    /// Returns the rejected calls; if there are any, nothing is rendered.
    pub(super) fn rejected(&self) -> &[UnsettledCall] {
        &self.unanswered.rejected
    }

    /// Adds the next message to the rendering, or reports why it is dropped.
    pub(super) fn add(&mut self, message: CanonicalMessage, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            self.add_result(message, rendered);
        } else {
            self.add_other(message, rendered);
        }
    }

    fn add_result(&mut self, mut result: CanonicalMessage, rendered: &mut Rendered) {
        match self.matcher.accept(&mut result) {
            Ok(()) => self.writer.write(result, rendered),
            Err(reason) => rendered.drop(result.origin, reason),
        }
    }

    /// Adds a message that is not a result, which ends the exchange before it.
    fn add_other(&mut self, message: CanonicalMessage, rendered: &mut Rendered) {
        self.end_exchange(rendered);
        let is_unanswered = self.unanswered.callers.contains(&message.origin.sequence);
        let is_complete = message.malformed_calls.is_none() && !is_unanswered;
        let decision = if is_complete { CallDecision::Keep } else { CallDecision::Remove };
        // The exchange begins even if the message is dropped. Otherwise its results would be
        // matched with the calls of the message before it.
        self.matcher.begin(&message, decision);
        let kept = match decision {
            CallDecision::Keep => Ok(message),
            CallDecision::Remove
                if is_unanswered && self.unanswered.policy == UnsettledPolicy::Trim =>
            {
                Err((message.origin, DropReason::Trimmed))
            }
            CallDecision::Remove => message.without_calls(),
        };
        match kept {
            Ok(mut message) => {
                self.rename_calls(&mut message);
                self.names.sanitise(&mut message);
                self.writer.write(message, rendered);
            }
            Err((origin, reason)) => rendered.drop(origin, reason),
        }
    }

    /// Gives a new id to each call whose id was used before or is not accepted by the dialect.
    fn rename_calls(&mut self, message: &mut CanonicalMessage) {
        for call in &mut message.calls {
            let allocated = self.call_ids.allocate(self.rules.call_ids, &call.id);
            let Some((new_id, repair)) = allocated else {
                continue;
            };
            message.repairs.push(repair.clone());
            self.original_ids.insert(new_id.clone(), call.id.clone());
            let stored_id = mem::replace(&mut call.id, new_id.clone());
            self.matcher.rename(stored_id, new_id, repair);
        }
    }

    fn end_exchange(&mut self, rendered: &mut Rendered) {
        for substitute in self.matcher.end() {
            self.writer.write(substitute, rendered);
        }
    }

    /// Ends the rendering.
    pub(super) fn end(mut self, rendered: &mut Rendered) {
        if !self.rejected().is_empty() {
            rendered.rejected = self.unanswered.rejected;
            return;
        }
        self.end_exchange(rendered);
        self.writer.finish(rendered);
        rendered.ids = self.original_ids;
        rendered.names = self.names.into_originals();
    }
}
