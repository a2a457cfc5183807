use std::collections::{HashMap, HashSet};

use crate::calls::CallKey;
use crate::canonical::CanonicalMessage;

/// The most bytes of messages that are held back until the results of a call before them have come.
pub(super) const MAX_HELD_BYTES: usize = 1 << 20;

/// The calls whose results do not all directly follow them, because other messages came first.
///
/// Providers accept a call only with its result directly after it. A tool has run if there is a result anywhere, so the
/// result is moved to its call: a rendering that leaves it out, or says that there is none, makes an agent run the tool
/// again. The messages between are held back until the result has come.
#[derive(Debug, Default)]
pub(super) struct LateResults {
    /// The sequences of the messages that make such calls, with that of the last result.
    pub(super) movable: HashMap<u64, u64>,
    /// The sequences of those whose results come after too many bytes to be held back: a note replaces each result.
    pub(super) unmovable: HashSet<u64>,
    /// The sequence of the last result of each call with several, by the sequence of the message that makes it.
    last: HashMap<(u64, CallKey), u64>,
}

impl LateResults {
    /// Adds the calls that have several results: the last one is moved to its call, and stands in the place of the others.
    pub(super) fn add_repeated(&mut self, last: HashMap<(u64, CallKey), u64>) {
        for (&(caller, _), &sequence) in &last {
            let until = self.movable.entry(caller).or_default();
            *until = sequence.max(*until);
        }
        self.last = last;
    }

    /// Returns whether a later result stands in the place of this one.
    pub(super) fn is_superseded(&self, caller: u64, result: &CanonicalMessage) -> bool {
        // Most chats have none, and a key is a digest.
        !self.last.is_empty()
            && self
                .last
                .get(&(caller, CallKey::from_id(&result.call_id)))
                .is_some_and(|last| *last > result.origin.sequence)
    }
}

/// Finds the last result of each call that may have several.
#[derive(Debug, Default)]
pub(super) struct RepeatedResults {
    open: HashMap<CallKey, RepeatedCall>,
    last: HashMap<(u64, CallKey), u64>,
}

/// A call that may have several results.
#[derive(Debug)]
struct RepeatedCall {
    /// The sequence of the message that makes it.
    caller: u64,
    /// The size of the messages that the scan has observed before the call, in bytes.
    passed_bytes: usize,
    has_result: bool,
}

impl RepeatedResults {
    /// Returns whether no call may have several results.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Records the calls of a message, by what results name them, and how many they name alike: such results no longer
    /// belong to calls before it.
    pub(super) fn begin(
        &mut self,
        message: &CanonicalMessage,
        calls: &HashMap<CallKey, usize>,
        passed_bytes: usize,
    ) {
        for (name, count) in calls {
            self.open.remove(name);
            // Of calls that are named alike, each has one result.
            if message.repeats_results && *count == 1 {
                let caller = message.origin.sequence;
                self.open.insert(*name, RepeatedCall { caller, passed_bytes, has_result: false });
            }
        }
    }

    /// Records a result.
    pub(super) fn observe(&mut self, name: CallKey, sequence: u64, passed_bytes: usize) {
        let Some(call) = self.open.get_mut(&name) else { return };
        let is_near = passed_bytes - call.passed_bytes <= MAX_HELD_BYTES;
        if call.has_result && is_near {
            self.last.insert((call.caller, name), sequence);
        }
        call.has_result = true;
    }

    /// Returns the sequence of the last result of each call with several.
    pub(super) fn into_last(self) -> HashMap<(u64, CallKey), u64> {
        self.last
    }
}

/// The messages between a call and its last result.
#[derive(Debug)]
pub(super) struct HeldMessages {
    /// The sequence of the last result.
    pub(super) until: u64,
    pub(super) messages: Vec<CanonicalMessage>,
}
