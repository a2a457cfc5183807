use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

use super::call_ids::CallIdAllocator;
use super::joiner::AnswerJoiner;
use super::late_results::{LateResults, MAX_HELD_BYTES, RepeatedResults};
use super::names::{NameSanitiser, accepted_functions, accepted_speaker};
use super::renderer::{ToolCallRenderer, UnansweredCalls};
use super::rules::DialectRules;
use super::viewpoint::Viewpoint;
use super::writer::MessageWriter;
use crate::calls::CallKey;
use crate::canonical::{CanonicalMessage, Role};
use crate::dropped::shorten;
use crate::rendered::Rendered;
use crate::window::{MessageKind, Window};
use crate::{UnsettledCall, UnsettledPolicy};

/// The first pass: finds the calls without results, and the names and call ids in use.
///
/// All of this must be known before the first message is rendered. Whether a call is rendered
/// depends on the results after it, however late they come, and a new name or id must differ from all later ones.
///
/// The window may be known only at the end of the scan. So everything is stored with the position of
/// the last message to which it applies, and [`ToolCallScan::into_renderer`] then drops what lies
/// before the window.
#[derive(Debug)]
pub(super) struct ToolCallScan {
    pub(super) rules: &'static DialectRules,
    /// `None` if none was chosen: calls without results are removed, unless they wait.
    policy: Option<UnsettledPolicy>,
    writer: Box<dyn MessageWriter>,
    pub(super) viewpoint: Viewpoint,
    pub(super) joiner: AnswerJoiner,
    /// The message whose results are being scanned.
    caller: Option<Caller>,
    /// The messages before it that still have open calls, by position.
    waiting: BTreeMap<usize, Caller>,
    /// The position of the message that makes each call of those.
    open_calls: HashMap<CallKey, usize>,
    /// The size of the messages that were observed while further results could come, in bytes.
    passed_bytes: usize,
    /// The sequences of the messages whose calls do not all have results.
    unanswered: HashSet<u64>,
    late: LateResults,
    repeated: RepeatedResults,
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
    /// The value of `passed_bytes` when its exchange ended.
    passed_bytes: usize,
    /// The sequence of its last result that does not directly follow it, and the bytes of the messages before that.
    last_late: Option<(u64, usize)>,
    /// The calls, in order.
    ids: Vec<CallKey>,
    /// The same calls, in the same order, as they are listed if they are rejected.
    listed: Vec<UnsettledCall>,
    /// By what results name the calls without results so far, and how many calls they name alike. A call is complete with
    /// its first result; the renderer drops further ones.
    open: HashMap<CallKey, usize>,
    /// The same of each call, in order.
    named: Vec<CallKey>,
    /// Whether the calls without results are shown as waiting.
    waits: bool,
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
        policy: Option<UnsettledPolicy>,
        viewpoint: Viewpoint,
    ) -> Self {
        Self {
            rules,
            policy,
            writer,
            viewpoint,
            joiner: rules.joiner(),
            caller: None,
            waiting: BTreeMap::new(),
            open_calls: HashMap::new(),
            passed_bytes: 0,
            unanswered: HashSet::new(),
            late: LateResults::default(),
            repeated: RepeatedResults::default(),
            rejected: Vec::new(),
            call_ids: HashMap::new(),
            names: HashMap::new(),
            instruction_names: HashMap::new(),
        }
    }

    /// Records a message as the agent sees it that it is rendered for.
    pub(super) fn see(&mut self, message: CanonicalMessage, rendered: &mut Rendered) {
        if let Some(message) = self.viewpoint.see(message, rendered) {
            self.observe_message(&message);
        }
    }

    /// Records the next message; its origin holds its position in the conversation.
    pub(super) fn observe_message(&mut self, message: &CanonicalMessage) {
        if self.rules.own_fields.may_interrupt && message.says_nothing() {
            return;
        }
        let position = message.origin.index;
        if message.role == Role::Tool {
            let key = CallKey::from_id(&message.call_id);
            self.repeated.observe(key, message.origin.sequence, self.passed_bytes);
            let caller = self.caller.as_mut();
            if !caller.is_some_and(|caller| caller.close(key)) {
                self.observe_late_result(key, message.origin.sequence);
            }
        } else {
            self.end_exchange();
            self.observe_other(message, position);
        }
        if !self.waiting.is_empty() || !self.repeated.is_empty() {
            self.passed_bytes += message.approximate_bytes();
        }
    }

    /// Records a result of an earlier call: it is moved to its call, unless that has a result.
    fn observe_late_result(&mut self, key: CallKey, sequence: u64) {
        let Some(position) = self.open_calls.get(&key).copied() else { return };
        let Some(caller) = self.waiting.get_mut(&position) else { return };
        caller.close(key);
        if !caller.open.contains_key(&key) {
            self.open_calls.remove(&key);
        }
        caller.last_late = Some((sequence, self.passed_bytes - caller.passed_bytes));
        if caller.open.is_empty()
            && let Some(caller) = self.waiting.remove(&position)
        {
            self.decide(caller);
        }
    }

    fn observe_other(&mut self, message: &CanonicalMessage, position: usize) {
        if !message.calls.is_empty() {
            let caller = Caller::new(self.rules, message);
            // A result can name only one of several calls with an id: the last one before it.
            for name in &caller.named {
                self.open_calls.remove(name);
            }
            if !self.rules.keeps_repeated_results {
                self.repeated.begin(message, &caller.open, self.passed_bytes);
            }
            self.caller = Some(caller);
        } else if message.malformed_calls.is_none() || message.has_content_without_calls() {
            let names = match message.role {
                Role::System | Role::Developer => &mut self.instruction_names,
                _ => &mut self.names,
            };
            let speaker = accepted_speaker(self.rules, message).into_iter();
            record_names(names, speaker.chain(accepted_functions(self.rules, message)), position);
        }
    }

    /// Ends the exchange of the last caller: a message that is not a result follows it.
    fn end_exchange(&mut self) {
        let Some(mut caller) = self.caller.take() else {
            return;
        };
        if caller.open.is_empty() {
            self.decide(caller);
        } else {
            caller.passed_bytes = self.passed_bytes;
            self.open_calls.extend(caller.open.keys().map(|name| (*name, caller.position)));
            self.waiting.insert(caller.position, caller);
        }
    }

    /// Decides about the calls of a message, once all of their results are known.
    fn decide(&mut self, caller: Caller) {
        let is_kept = caller.open.is_empty()
            || self.policy == Some(UnsettledPolicy::Settle)
            || UnsettledPolicy::shows_open(self.policy, caller.waits);
        let names = if is_kept {
            match caller.last_late {
                Some((last, bytes)) if bytes <= MAX_HELD_BYTES => {
                    self.late.movable.insert(caller.sequence, last);
                }
                Some(_) => _ = self.late.unmovable.insert(caller.sequence),
                None => {}
            }
            for id in caller.ids {
                let last = self.call_ids.entry(id).or_default();
                *last = caller.position.max(*last);
            }
            caller.names
        } else {
            // The ids of removed calls are not reserved: later calls may use them unchanged.
            self.unanswered.insert(caller.sequence);
            if self.policy == Some(UnsettledPolicy::Reject) {
                let listed = caller.named.iter().zip(caller.listed);
                let open = listed.filter(|(name, _)| caller.open.contains_key(name));
                self.rejected.extend(open.map(|(_, call)| (caller.position, call)));
            }
            caller.names_without_calls
        };
        record_names(&mut self.names, names.iter(), caller.position);
    }

    /// Ends the scan, and returns the renderer for the messages in the window.
    pub(super) fn into_renderer(mut self, window: &Window) -> ToolCallRenderer {
        self.end_exchange();
        while let Some((_, caller)) = self.waiting.pop_first() {
            self.decide(caller);
        }
        let call_ids = CallIdAllocator::new(within(self.call_ids, window, MessageKind::Dialogue));
        let names = within(self.names, window, MessageKind::Dialogue).chain(within(
            self.instruction_names,
            window,
            MessageKind::Instruction,
        ));
        let names = NameSanitiser::new(self.rules, names.collect());
        let rejected = self.rejected.into_iter();
        let rejected = rejected.filter(|(at, _)| window.contains_kind(*at, MessageKind::Dialogue));
        self.late.add_repeated(self.repeated.into_last());
        let unanswered = UnansweredCalls {
            policy: self.policy,
            callers: self.unanswered,
            late: self.late,
            rejected: rejected.map(|(_, call)| call).collect(),
        };
        ToolCallRenderer::new(
            self.rules,
            self.writer,
            self.viewpoint.restarted(),
            unanswered,
            call_ids,
            names,
        )
    }
}

impl Caller {
    /// Closes a call, and returns whether one was open.
    fn close(&mut self, key: CallKey) -> bool {
        let Some(count) = self.open.get_mut(&key) else { return false };
        *count -= 1;
        if *count == 0 {
            self.open.remove(&key);
        }
        true
    }

    fn new(rules: &'static DialectRules, message: &CanonicalMessage) -> Self {
        let sequence = message.origin.sequence;
        let listed = message.calls.iter().map(|call| UnsettledCall {
            sequence,
            call_id: shorten(&call.stored_id),
            name: shorten(&call.target.name),
        });
        let named = message.calls.iter().map(|call| CallKey::from_id(&call.stored_id));
        let named: Vec<_> = named.collect();
        let ids = message.calls.iter().zip(&named).map(|(call, named)| {
            if call.id == call.stored_id { *named } else { CallKey::from_id(&call.id) }
        });
        let ids: Vec<_> = ids.collect();
        let mut open = HashMap::with_capacity(named.len());
        for name in &named {
            *open.entry(*name).or_default() += 1;
        }
        let speaker = accepted_speaker(rules, message).cloned();
        let functions = accepted_functions(rules, message).cloned();
        Self {
            position: message.origin.index,
            sequence,
            passed_bytes: 0,
            last_late: None,
            open,
            named,
            listed: listed.collect(),
            ids,
            waits: (rules.waits)(message),
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
            Some(last) => *last = position.max(*last),
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
