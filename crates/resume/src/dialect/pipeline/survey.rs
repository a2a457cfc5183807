use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::naming::{Names, admitted_functions, admitted_speaker};
use super::pairing::CallIds;
use super::renderer::{Renderer, Settling};
use super::rules::Rules;
use super::writer::Writer;
use crate::calls::CallKey;
use crate::canonical::{Canonical, Role};
use crate::dropped::shown;
use crate::window::{Part, Window};
use crate::{Unsettled, UnsettledCall};

/// What has to be known of a conversation before its first message is rendered.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) rules: &'static Rules,
    unsettled: Unsettled,
    writer: Box<dyn Writer>,
    /// The message whose calls are being answered.
    caller: Option<Caller>,
    /// The sequences of the messages whose calls are not all answered directly.
    unanswered: HashSet<u64>,
    /// The calls to reject, each with the position of its message.
    rejected: Vec<(usize, UnsettledCall)>,
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
    /// The calls as they are listed when they are rejected, likewise in order.
    listed: Vec<UnsettledCall>,
    /// Those without an answer so far.
    open: HashSet<CallKey>,
    /// The names in the message when its calls stay.
    names: Vec<String>,
    /// The names in the message when its calls are taken away.
    names_without_calls: Vec<String>,
}

impl Survey {
    /// Begins a survey of a conversation that is then written by `writer`.
    pub(super) fn new(
        rules: &'static Rules,
        writer: Box<dyn Writer>,
        unsettled: Unsettled,
    ) -> Self {
        Self {
            rules,
            unsettled,
            writer,
            caller: None,
            unanswered: HashSet::new(),
            rejected: Vec::new(),
            call_ids: HashMap::new(),
            names: HashMap::new(),
            instructors: HashMap::new(),
        }
    }

    /// Takes note of the next message; its origin says at which position of the conversation.
    pub(super) fn note_message(&mut self, message: &Canonical) {
        let position = message.origin.index;
        if message.role == Role::Tool {
            if let Some(caller) = &mut self.caller {
                caller.open.remove(&CallKey::of_id(&message.call_id));
            }
            return;
        }
        self.settle();
        if !message.calls.is_empty() {
            self.caller = Some(Caller::of(self.rules, message));
        } else if message.malformed.is_none() || message.stays_without_calls() {
            let names = match message.role {
                Role::System | Role::Developer => &mut self.instructors,
                _ => &mut self.names,
            };
            let admitted = admitted_speaker(self.rules, message).into_iter();
            note_all(names, admitted.chain(admitted_functions(self.rules, message)), position);
        }
    }

    /// Takes note of what becomes of the last calls: no more answers will follow.
    fn settle(&mut self) {
        let Some(caller) = self.caller.take() else {
            return;
        };
        let is_kept = caller.open.is_empty() || self.unsettled == Unsettled::Settle;
        let names = if is_kept {
            self.call_ids.extend(caller.ids.into_iter().map(|id| (id, caller.position)));
            caller.names
        } else {
            self.unanswered.insert(caller.sequence);
            if self.unsettled == Unsettled::Reject {
                let listed = caller.ids.iter().zip(caller.listed);
                let open = listed.filter(|(id, _)| caller.open.contains(id));
                self.rejected.extend(open.map(|(_, call)| (caller.position, call)));
            }
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
        let names = Names::new(self.rules, names.collect());
        let rejected = self.rejected.into_iter();
        let rejected = rejected.filter(|(at, _)| window.contains_part(*at, Part::Spoken));
        let unsettled = Settling {
            policy: self.unsettled,
            unanswered: self.unanswered,
            rejected: rejected.map(|(_, call)| call).collect(),
        };
        Renderer::new(self.rules, self.writer, unsettled, call_ids, names)
    }
}

impl Caller {
    fn of(rules: &'static Rules, message: &Canonical) -> Self {
        let ids: Vec<_> = message.calls.iter().map(|call| CallKey::of_id(&call.id)).collect();
        let sequence = message.origin.sequence;
        let listed = message.calls.iter().map(|call| UnsettledCall {
            sequence,
            call_id: shown(&call.id),
            name: shown(&call.target.name),
        });
        let speaker = admitted_speaker(rules, message).cloned();
        let functions = admitted_functions(rules, message).cloned();
        Self {
            position: message.origin.index,
            sequence,
            open: ids.iter().copied().collect(),
            listed: listed.collect(),
            ids,
            names: speaker.iter().cloned().chain(functions).collect(),
            names_without_calls: speaker
                .filter(|_| message.stays_without_calls())
                .into_iter()
                .collect(),
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
