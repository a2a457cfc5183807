use std::collections::HashSet;
use std::mem;

use super::Writer;
use super::naming::Names;
use super::pairing::{CallIds, Fate, Pairing, renaming};
use crate::canonical::{Canonical, Role};
use crate::dialect::Rendered;

/// Renders messages one by one, with what the survey found out.
#[derive(Debug)]
pub(super) struct Renderer {
    writer: Box<dyn Writer>,
    /// The sequences of the messages whose calls are not all answered directly.
    unanswered: HashSet<u64>,
    pairing: Pairing,
    call_ids: CallIds,
    names: Names,
}

impl Renderer {
    pub(super) fn new(
        writer: Box<dyn Writer>,
        unanswered: HashSet<u64>,
        call_ids: CallIds,
        names: Names,
    ) -> Self {
        Self { writer, unanswered, pairing: Pairing::default(), call_ids, names }
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
        let is_complete =
            message.malformed.is_none() && !self.unanswered.contains(&message.origin.sequence);
        let calls = if is_complete { Fate::Kept } else { Fate::Removed };
        self.pairing.begin(&message, calls);
        let kept = match calls {
            Fate::Kept => Ok(message),
            Fate::Removed => message.without_calls(),
        };
        match kept {
            Ok(mut message) => {
                self.rename_repeated_ids(&mut message);
                self.names.sanitise(&mut message);
                self.writer.write(message, rendered);
            }
            Err((origin, reason)) => rendered.drop(origin, reason),
        }
    }

    /// Gives each call whose id an earlier message used a new id.
    fn rename_repeated_ids(&mut self, message: &mut Canonical) {
        for call in &mut message.calls {
            if let Some(fresh) = self.call_ids.use_id(&call.id) {
                message.repairs.push(renaming(&call.id, &fresh));
                self.pairing.rename(mem::replace(&mut call.id, fresh.clone()), fresh);
            }
        }
    }

    fn end_exchange(&mut self, rendered: &mut Rendered) {
        for stand_in in self.pairing.end() {
            self.writer.write(stand_in, rendered);
        }
    }

    /// Ends the rendering.
    pub(super) fn end(mut self, rendered: &mut Rendered) {
        self.end_exchange(rendered);
        self.writer.finish(rendered);
        rendered.names = self.names.into_originals();
    }
}
