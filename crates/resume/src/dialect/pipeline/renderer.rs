use std::collections::{BTreeMap, HashSet};
use std::mem;

use super::naming::Names;
use super::pairing::{CallIds, Fate, Pairing};
use super::rules::Rules;
use super::writer::Writer;
use crate::canonical::{Canonical, Role};
use crate::rendered::Rendered;
use crate::{DropReason, Unsettled, UnsettledCall};

/// Renders messages one by one, with what the survey found out.
#[derive(Debug)]
pub(super) struct Renderer {
    pub(super) rules: &'static Rules,
    writer: Box<dyn Writer>,
    unsettled: Settling,
    pairing: Pairing,
    call_ids: CallIds,
    ids: BTreeMap<String, String>,
    names: Names,
}

/// What is to be done about calls without results.
#[derive(Debug)]
pub(super) struct Settling {
    pub(super) policy: Unsettled,
    /// The sequences of the messages whose calls are not all answered directly.
    pub(super) unanswered: HashSet<u64>,
    pub(super) rejected: Vec<UnsettledCall>,
}

impl Renderer {
    pub(super) fn new(
        rules: &'static Rules,
        writer: Box<dyn Writer>,
        unsettled: Settling,
        call_ids: CallIds,
        names: Names,
    ) -> Self {
        let pairing = Pairing::new(unsettled.policy);
        Self { rules, writer, unsettled, pairing, call_ids, ids: BTreeMap::new(), names }
    }

    /// Returns the calls for which nothing is rendered.
    pub(super) fn rejected(&self) -> &[UnsettledCall] {
        &self.unsettled.rejected
    }

    /// Adds the next message to the rendering, or reports why it is left out.
    pub(super) fn add(&mut self, message: Canonical, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            self.add_result(message, rendered);
        } else {
            self.add_said(message, rendered);
        }
    }

    fn add_result(&mut self, mut result: Canonical, rendered: &mut Rendered) {
        match self.pairing.answer(&mut result) {
            Ok(()) => self.writer.write(result, rendered),
            Err(reason) => rendered.drop(result.origin, reason),
        }
    }

    fn add_said(&mut self, message: Canonical, rendered: &mut Rendered) {
        self.end_exchange(rendered);
        let is_unanswered = self.unsettled.unanswered.contains(&message.origin.sequence);
        let is_complete = message.malformed.is_none() && !is_unanswered;
        let calls = if is_complete { Fate::Kept } else { Fate::Removed };
        self.pairing.begin(&message, calls);
        let kept = match calls {
            Fate::Kept => Ok(message),
            Fate::Removed if is_unanswered && self.unsettled.policy == Unsettled::Trim => {
                Err((message.origin, DropReason::Trimmed))
            }
            Fate::Removed => message.without_calls(),
        };
        match kept {
            Ok(mut message) => {
                self.rename_ids(&mut message);
                self.names.sanitise(&mut message);
                self.writer.write(message, rendered);
            }
            Err((origin, reason)) => rendered.drop(origin, reason),
        }
    }

    /// Gives each call a new id that has none of its own, or one that the dialect does not admit.
    fn rename_ids(&mut self, message: &mut Canonical) {
        for call in &mut message.calls {
            let Some((fresh, repair)) = self.call_ids.admit(self.rules.call_ids, &call.id) else {
                continue;
            };
            message.repairs.push(repair.clone());
            self.ids.insert(fresh.clone(), call.id.clone());
            self.pairing.rename(mem::replace(&mut call.id, fresh.clone()), fresh, repair);
        }
    }

    fn end_exchange(&mut self, rendered: &mut Rendered) {
        for stand_in in self.pairing.end() {
            self.writer.write(stand_in, rendered);
        }
    }

    /// Ends the rendering.
    pub(super) fn end(mut self, rendered: &mut Rendered) {
        if !self.rejected().is_empty() {
            rendered.rejected = self.unsettled.rejected;
            return;
        }
        self.end_exchange(rendered);
        self.writer.finish(rendered);
        rendered.ids = self.ids;
        rendered.names = self.names.into_originals();
    }
}
