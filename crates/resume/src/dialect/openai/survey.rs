use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::draft::Draft;
use super::naming::{Names, is_admitted};
use super::pairing::CallIds;
use super::renderer::Renderer;
use super::role::Role;
use crate::calls::CallKey;
use crate::window::{Part, Window};

/// What has to be known of a conversation before its first message is rendered.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The message whose calls are being answered.
    caller: Option<Caller>,
    /// The sequences of the messages whose calls are not all answered directly.
    unanswered: HashSet<u64>,
    /// The ids of calls that stay, each with the position of the last one.
    call_ids: HashMap<CallKey, usize>,
    /// The names that are admitted as they are, likewise.
    names: HashMap<String, usize>,
    /// The names among them that speak instructions, likewise: a window begins later for those.
    instructors: HashMap<String, usize>,
}

/// A message with calls, as far as it matters once it is known whether they are answered.
#[derive(Debug)]
struct Caller {
    position: usize,
    sequence: u64,
    ids: Vec<CallKey>,
    open: HashSet<CallKey>,
    /// The names in the message when its calls stay.
    names: Vec<String>,
    /// The names in the message when its calls are taken away.
    names_without_calls: Vec<String>,
}

impl Survey {
    /// Takes note of the next draft; its origin says at which position of the conversation.
    pub(super) fn note_draft(&mut self, draft: &Draft) {
        let position = draft.origin.index;
        if draft.role == Role::Tool {
            if let Some(caller) = &mut self.caller {
                caller.open.remove(&CallKey::of_id(&draft.call_id));
            }
            return;
        }
        self.settle();
        if !draft.calls.is_empty() {
            self.caller = Some(Caller::of(draft));
        } else if draft.malformed.is_none() || draft.stays_without_calls() {
            let names = match draft.role {
                Role::System | Role::Developer => &mut self.instructors,
                _ => &mut self.names,
            };
            note_all(names, draft.names().filter(|name| is_admitted(name)), position);
        }
    }

    /// Takes note of what becomes of the last calls: no more answers will follow.
    fn settle(&mut self) {
        let Some(caller) = self.caller.take() else {
            return;
        };
        let names = if caller.open.is_empty() {
            self.call_ids.extend(caller.ids.into_iter().map(|id| (id, caller.position)));
            caller.names
        } else {
            self.unanswered.insert(caller.sequence);
            caller.names_without_calls
        };
        note_all(&mut self.names, names.iter(), caller.position);
    }

    /// Goes on to render the messages in the window.
    pub(super) fn into_renderer(mut self, window: &Window) -> Renderer {
        self.settle();
        let call_ids = CallIds::new(within(self.call_ids, window, Part::Spoken));
        let names = within(self.names, window, Part::Spoken).chain(within(
            self.instructors,
            window,
            Part::Instruction,
        ));
        Renderer::new(self.unanswered, call_ids, Names::new(names.collect()))
    }
}

impl Caller {
    fn of(draft: &Draft) -> Self {
        let ids: Vec<_> = draft.called_ids().map(CallKey::of_id).collect();
        let speaker = draft.name.iter().filter(|_| draft.stays_without_calls());
        Self {
            position: draft.origin.index,
            sequence: draft.origin.sequence,
            open: ids.iter().copied().collect(),
            ids,
            names: draft.names().filter(|name| is_admitted(name)).cloned().collect(),
            names_without_calls: speaker.filter(|name| is_admitted(name)).cloned().collect(),
        }
    }
}

fn note_all<'a>(
    last: &mut HashMap<String, usize>,
    names: impl Iterator<Item = &'a String>,
    position: usize,
) {
    for name in names {
        match last.get_mut(name) {
            Some(last) => *last = position,
            None => _ = last.insert(name.clone(), position),
        }
    }
}

/// Returns what was last noted in the window.
fn within<T: Hash + Eq>(
    last: HashMap<T, usize>,
    window: &Window,
    part: Part,
) -> impl Iterator<Item = T> {
    let kept = last.into_iter().filter(move |(_, at)| window.contains_part(*at, part));
    kept.map(|(noted, _)| noted)
}
