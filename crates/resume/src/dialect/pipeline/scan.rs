use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::call_ids::CallIdAllocator;
use super::names::{NameSanitiser, accepted_functions, accepted_speaker};
use super::renderer::{ToolCallRenderer, UnansweredCalls};
use super::rules::DialectRules;
use super::writer::MessageWriter;
use crate::calls::CallKey;
use crate::canonical::{CanonicalMessage, Role};
use crate::dropped::shorten;
use crate::window::{MessageKind, Window};
use crate::{UnsettledCall, UnsettledPolicy};

/// The first pass: finds the calls without results, and the names and call ids in use.
///
/// All of this must be known before the first message is rendered. Whether a call is rendered
/// depends on the results after it, and a new name or id must differ from all later ones.
///
/// The window may be known only at the end of the scan. So everything is stored with the position of
/// the last message to which it applies, and [`ToolCallScan::into_renderer`] then drops what lies
/// before the window.
#[derive(Debug)]
pub(super) struct ToolCallScan {
    pub(super) rules: &'static DialectRules,
    policy: UnsettledPolicy,
    writer: Box<dyn MessageWriter>,
    /// The message whose results are being scanned.
    caller: Option<Caller>,
    /// The sequences of the messages whose calls do not all have results directly after them.
    unanswered: HashSet<u64>,
    /// The calls to reject, each with the position of its message.
    rejected: Vec<(usize, UnsettledCall)>,
    /// The ids of the calls that are rendered, each with the position of its last call.
    call_ids: HashMap<CallKey, usize>,
    /// The names that the dialect accepts unchanged, each with the last position of the name.
    names: HashMap<String, usize>,
    /// The same for the speakers of instructions, for which a window begins at another position.
    instruction_names: HashMap<String, usize>,
}

/// A message with calls, while it is unknown whether all of them have results.
#[derive(Debug)]
struct Caller {
    position: usize,
    sequence: u64,
    /// The calls, in order.
    ids: Vec<CallKey>,
    /// The same calls, in the same order, as they are listed if they are rejected.
    listed: Vec<UnsettledCall>,
    /// The calls without results so far. It is a set, because a call is complete with its first result;
    /// the renderer drops further ones.
    open: HashSet<CallKey>,
    /// The names in the message if its calls are rendered.
    names: Vec<String>,
    /// The names in the message if its calls are removed.
    names_without_calls: Vec<String>,
}

impl ToolCallScan {
    /// Begins the scan of a conversation that `writer` will write.
    pub(super) fn new(
        rules: &'static DialectRules,
        writer: Box<dyn MessageWriter>,
        policy: UnsettledPolicy,
    ) -> Self {
        Self {
            rules,
            policy,
            writer,
            caller: None,
            unanswered: HashSet::new(),
            rejected: Vec::new(),
            call_ids: HashMap::new(),
            names: HashMap::new(),
            instruction_names: HashMap::new(),
        }
    }

    /// Records the next message; its origin holds its position in the conversation.
    pub(super) fn observe_message(&mut self, message: &CanonicalMessage) {
        let position = message.origin.index;
        if message.role == Role::Tool {
            // Only results directly after the caller count, so that no other call is looked up.
            if let Some(caller) = &mut self.caller {
                caller.open.remove(&CallKey::from_id(&message.call_id));
            }
            return;
        }
        self.end_exchange();
        if !message.calls.is_empty() {
            self.caller = Some(Caller::new(self.rules, message));
        } else if message.malformed_calls.is_none() || message.has_content_without_calls() {
            let names = match message.role {
                Role::System | Role::Developer => &mut self.instruction_names,
                _ => &mut self.names,
            };
            let speaker = accepted_speaker(self.rules, message).into_iter();
            record_names(names, speaker.chain(accepted_functions(self.rules, message)), position);
        }
    }

    /// Decides about the calls of the last caller: a message that is not a result follows it.
    fn end_exchange(&mut self) {
        let Some(caller) = self.caller.take() else {
            return;
        };
        let is_kept = caller.open.is_empty() || self.policy == UnsettledPolicy::Settle;
        let names = if is_kept {
            self.call_ids.extend(caller.ids.into_iter().map(|id| (id, caller.position)));
            caller.names
        } else {
            // The ids of removed calls are not reserved: later calls may use them unchanged.
            self.unanswered.insert(caller.sequence);
            if self.policy == UnsettledPolicy::Reject {
                let listed = caller.ids.iter().zip(caller.listed);
                let open = listed.filter(|(id, _)| caller.open.contains(id));
                self.rejected.extend(open.map(|(_, call)| (caller.position, call)));
            }
            caller.names_without_calls
        };
        record_names(&mut self.names, names.iter(), caller.position);
    }

    /// Ends the scan, and returns the renderer for the messages in the window.
    pub(super) fn into_renderer(mut self, window: &Window) -> ToolCallRenderer {
        self.end_exchange();
        let call_ids = CallIdAllocator::new(within(self.call_ids, window, MessageKind::Dialogue));
        let names = within(self.names, window, MessageKind::Dialogue).chain(within(
            self.instruction_names,
            window,
            MessageKind::Instruction,
        ));
        let names = NameSanitiser::new(self.rules, names.collect());
        let rejected = self.rejected.into_iter();
        let rejected = rejected.filter(|(at, _)| window.contains_kind(*at, MessageKind::Dialogue));
        let unanswered = UnansweredCalls {
            policy: self.policy,
            callers: self.unanswered,
            rejected: rejected.map(|(_, call)| call).collect(),
        };
        ToolCallRenderer::new(self.rules, self.writer, unanswered, call_ids, names)
    }
}

impl Caller {
    fn new(rules: &'static DialectRules, message: &CanonicalMessage) -> Self {
        let ids: Vec<_> = message.calls.iter().map(|call| CallKey::from_id(&call.id)).collect();
        let sequence = message.origin.sequence;
        let listed = message.calls.iter().map(|call| UnsettledCall {
            sequence,
            call_id: shorten(&call.id),
            name: shorten(&call.target.name),
        });
        let speaker = accepted_speaker(rules, message).cloned();
        let functions = accepted_functions(rules, message).cloned();
        Self {
            position: message.origin.index,
            sequence,
            open: ids.iter().copied().collect(),
            listed: listed.collect(),
            ids,
            names: speaker.iter().cloned().chain(functions).collect(),
            names_without_calls: speaker
                .filter(|_| message.has_content_without_calls())
                .into_iter()
                .collect(),
        }
    }
}

/// Sets the last position of each name.
fn record_names<'a>(
    last_positions: &mut HashMap<String, usize>,
    names: impl Iterator<Item = &'a String>,
    position: usize,
) {
    for name in names {
        // Not `insert`, which would copy a known name again for each message.
        match last_positions.get_mut(name) {
            Some(last) => *last = position,
            None => _ = last_positions.insert(name.clone(), position),
        }
    }
}

/// Returns the items whose last position is in the window.
fn within<T: Hash + Eq>(
    last_positions: HashMap<T, usize>,
    window: &Window,
    kind: MessageKind,
) -> impl Iterator<Item = T> {
    let kept = last_positions.into_iter().filter(move |(_, at)| window.contains_kind(*at, kind));
    kept.map(|(item, _)| item)
}
