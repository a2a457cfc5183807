use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem;

use super::call_ids::CallIdAllocator;
use super::joiner::AnswerJoiner;
use super::late_results::{HeldMessages, LateResults};
use super::matching::{CallDecision, ResultMatcher};
use super::names::NameSanitiser;
use super::rules::{DialectRules, UniqueIn};
use super::viewpoint::Viewpoint;
use super::writer::MessageWriter;
use crate::calls::CallKey;
use crate::canonical::{CanonicalMessage, Role};
use crate::dropped::shorten;
use crate::rendered::Rendered;
use crate::{DropReason, Repair, UnsettledCall, UnsettledPolicy};

/// The second pass: renders messages one by one, with what the scan found.
#[derive(Debug)]
pub(super) struct ToolCallRenderer {
    pub(super) rules: &'static DialectRules,
    writer: Box<dyn MessageWriter>,
    pub(super) viewpoint: Viewpoint,
    pub(super) joiner: AnswerJoiner,
    unanswered: UnansweredCalls,
    matcher: ResultMatcher,
    call_ids: CallIdAllocator,
    /// The original of each call id that was changed.
    original_ids: BTreeMap<String, String>,
    names: NameSanitiser,
    /// The ids of rendered calls that may have further results, by what results name them.
    repeatable: HashMap<CallKey, String>,
    /// What follows a call whose results have not all come.
    held: Option<HeldMessages>,
}

/// The calls whose results do not directly follow them.
#[derive(Debug)]
pub(super) struct UnansweredCalls {
    pub(super) policy: Option<UnsettledPolicy>,
    /// The sequences of the messages that make calls without any result.
    ///
    /// They are sequences, not positions: positions change if a window begins later.
    pub(super) callers: HashSet<u64>,
    pub(super) late: LateResults,
    /// The rejected calls; if there are any, nothing is rendered.
    pub(super) rejected: Vec<UnsettledCall>,
}

impl ToolCallRenderer {
    pub(super) fn new(
        rules: &'static DialectRules,
        writer: Box<dyn MessageWriter>,
        viewpoint: Viewpoint,
        unanswered: UnansweredCalls,
        call_ids: CallIdAllocator,
        names: NameSanitiser,
    ) -> Self {
        let matcher = ResultMatcher::new(unanswered.policy, rules.result_names);
        let original_ids = BTreeMap::new();
        Self {
            rules,
            writer,
            viewpoint,
            joiner: rules.joiner(),
            unanswered,
            matcher,
            call_ids,
            original_ids,
            names,
            repeatable: HashMap::new(),
            held: None,
        }
    }

    /// Returns the rejected calls; if there are any, nothing is rendered.
    pub(super) fn rejected(&self) -> &[UnsettledCall] {
        &self.unanswered.rejected
    }

    /// Adds a message as the agent sees it that it is rendered for.
    pub(super) fn see(&mut self, message: CanonicalMessage, rendered: &mut Rendered) {
        if let Some(message) = self.viewpoint.see(message, rendered) {
            self.add(message, rendered);
        }
    }

    /// Adds the next message to the rendering, or reports why it is dropped.
    pub(super) fn add(&mut self, message: CanonicalMessage, rendered: &mut Rendered) {
        // One message may have several results: the last one has come once the next message does.
        while self.held.as_ref().is_some_and(|held| message.origin.sequence > held.until) {
            self.release(rendered);
        }
        let holds_any = self.held.as_ref().is_some_and(|held| !held.messages.is_empty());
        let may_interrupt = self.rules.own_fields.may_interrupt && message.says_nothing();
        if may_interrupt && !holds_any {
            self.writer.write(message, rendered);
            return;
        }
        let Some(held) = &mut self.held else {
            self.add_next(message, rendered);
            return;
        };
        if message.role == Role::Tool && self.matcher.is_open(&message.call_id) {
            let is_late = !held.messages.is_empty();
            self.add_result(message, is_late, rendered);
        } else {
            held.messages.push(message);
        }
    }

    /// Adds the messages that were held back. They may hold back others.
    fn release(&mut self, rendered: &mut Rendered) {
        let held = self.held.take().map(|held| held.messages);
        for message in held.into_iter().flatten() {
            self.add(message, rendered);
        }
    }

    fn add_next(&mut self, message: CanonicalMessage, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            self.add_result(message, false, rendered);
        } else {
            self.add_other(message, rendered);
        }
    }

    fn add_result(&mut self, mut result: CanonicalMessage, is_late: bool, rendered: &mut Rendered) {
        let caller = self.matcher.caller();
        if caller.is_some_and(|caller| self.unanswered.late.is_superseded(caller, &result)) {
            let call_id = shorten(&result.call_id);
            rendered.drop(result.origin, DropReason::SupersededResult { call_id });
            return;
        }
        if is_late {
            let call_id = shorten(&result.call_id);
            result.repairs.push(Repair::ResultMoved { call_id });
        }
        match self.matcher.accept(&mut result) {
            Ok(()) => self.writer.write(result, rendered),
            Err(reason) => match self.repeatable.get(&CallKey::from_id(&result.call_id)) {
                Some(id) => {
                    result.call_id.clone_from(id);
                    self.writer.write(result, rendered);
                }
                None => rendered.drop(result.origin, reason),
            },
        }
    }

    /// Adds a message that is not a result, which ends the exchange before it.
    fn add_other(&mut self, message: CanonicalMessage, rendered: &mut Rendered) {
        self.end_exchange(rendered);
        let sequence = message.origin.sequence;
        let is_unanswered = self.unanswered.callers.contains(&sequence);
        let is_complete = message.malformed_calls.is_none() && !is_unanswered;
        let decision = if is_complete { CallDecision::Keep } else { CallDecision::Remove };
        // From here on, a result with one of these ids belongs to this message.
        if !self.repeatable.is_empty() {
            for id in message.called_ids() {
                self.repeatable.remove(&CallKey::from_id(id));
            }
        }
        // The exchange begins even if the message is dropped. Otherwise its results would be
        // matched with the calls of the message before it.
        self.matcher.begin(&message, decision);
        if decision == CallDecision::Keep {
            let until = self.unanswered.late.movable.get(&sequence).copied();
            self.held = until.map(|until| HeldMessages { until, messages: Vec::new() });
            self.matcher.results_come_later(self.unanswered.late.unmovable.contains(&sequence));
            let may_wait =
                UnsettledPolicy::shows_open(self.unanswered.policy, (self.rules.waits)(&message));
            self.matcher.results_may_lack(may_wait);
        }
        let kept = match decision {
            CallDecision::Keep => Ok(message),
            CallDecision::Remove
                if is_unanswered && self.unanswered.policy == Some(UnsettledPolicy::Trim) =>
            {
                Err((message.origin, DropReason::Trimmed))
            }
            CallDecision::Remove => message.without_calls(),
        };
        match kept {
            Ok(mut message) => {
                self.rename_calls(&mut message);
                if self.rules.keeps_repeated_results && message.repeats_results {
                    let calls = message.calls.iter();
                    let ids = calls.map(|it| (CallKey::from_id(&it.stored_id), it.id.clone()));
                    self.repeatable.extend(ids);
                }
                self.names.sanitise(&mut message);
                self.writer.write(message, rendered);
            }
            Err((origin, reason)) => rendered.drop(origin, reason),
        }
    }

    /// Gives a new id to each call whose id the dialect does not accept, or not once more.
    fn rename_calls(&mut self, message: &mut CanonicalMessage) {
        let rule = self.rules.call_ids;
        if rule.unique_in == UniqueIn::Message {
            let ids = message.calls.iter().map(|call| CallKey::from_id(&call.id));
            self.call_ids = CallIdAllocator::new(ids);
        }
        for call in &mut message.calls {
            if call.id != call.stored_id {
                self.original_ids.insert(call.id.clone(), call.stored_id.clone());
            }
            let allocated = self.call_ids.allocate(rule, &call.id);
            let Some((new_id, repair)) = allocated else {
                continue;
            };
            message.repairs.push(repair.clone());
            self.original_ids.insert(new_id.clone(), call.stored_id.clone());
            let id = mem::replace(&mut call.id, new_id.clone());
            self.matcher.rename(id, new_id, repair);
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
        while self.held.is_some() {
            self.release(rendered);
        }
        self.end_exchange(rendered);
        self.writer.finish(rendered);
        // Messages that were held back are reported after the results that were moved, and the results of one message may
        // be dropped in either pass.
        rendered.dropped.sort_by_key(|dropped| (dropped.index, dropped.reason.slug()));
        rendered.repaired.sort_by_key(|repaired| repaired.index);
        rendered.ids = self.original_ids;
        rendered.names = self.names.into_originals();
    }
}
