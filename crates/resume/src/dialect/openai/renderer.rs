use std::collections::HashSet;
use std::mem;

use super::draft::Draft;
use super::naming::Names;
use super::pairing::{CallIds, Fate, Pairing, renaming};
use super::role::Role;
use crate::dialect::Rendered;

/// Renders drafts one by one, with what the survey found out.
#[derive(Debug)]
pub(super) struct Renderer {
    /// The sequences of the messages whose calls are not all answered directly.
    unanswered: HashSet<u64>,
    pairing: Pairing,
    call_ids: CallIds,
    names: Names,
}

impl Renderer {
    pub(super) fn new(unanswered: HashSet<u64>, call_ids: CallIds, names: Names) -> Self {
        Self { unanswered, pairing: Pairing::default(), call_ids, names }
    }

    /// Adds the next draft to the rendering, or reports why it is left out.
    pub(super) fn add(&mut self, draft: Draft, rendered: &mut Rendered) {
        if draft.role == Role::Tool {
            self.add_result(draft, rendered);
        } else {
            self.add_said(draft, rendered);
        }
    }

    fn add_result(&mut self, mut result: Draft, rendered: &mut Rendered) {
        match self.pairing.answer(&mut result) {
            Ok(()) => result.write(rendered),
            Err(reason) => rendered.drop(result.origin, reason),
        }
    }

    fn add_said(&mut self, draft: Draft, rendered: &mut Rendered) {
        self.end_exchange(rendered);
        let is_complete =
            draft.malformed.is_none() && !self.unanswered.contains(&draft.origin.sequence);
        let calls = if is_complete { Fate::Kept } else { Fate::Removed };
        self.pairing.begin(&draft, calls);
        let kept = match calls {
            Fate::Kept => Ok(draft),
            Fate::Removed => draft.without_calls(),
        };
        match kept {
            Ok(mut draft) => {
                self.rename_repeated_ids(&mut draft);
                self.names.sanitise(&mut draft);
                draft.write(rendered);
            }
            Err((origin, reason)) => rendered.drop(origin, reason),
        }
    }

    /// Gives each call whose id an earlier message used a new id.
    fn rename_repeated_ids(&mut self, draft: &mut Draft) {
        for call in &mut draft.calls {
            if let Some(fresh) = self.call_ids.use_id(&call.id) {
                draft.repairs.push(renaming(&call.id, &fresh));
                self.pairing.rename(mem::replace(&mut call.id, fresh.clone()), fresh);
            }
        }
    }

    fn end_exchange(&mut self, rendered: &mut Rendered) {
        for stand_in in self.pairing.end() {
            stand_in.write(rendered);
        }
    }

    /// Ends the rendering.
    pub(super) fn end(mut self, rendered: &mut Rendered) {
        self.end_exchange(rendered);
        rendered.names = self.names.into_originals();
    }
}
