use std::collections::{HashMap, HashSet};

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
}

/// The messages between a call and its last result.
#[derive(Debug)]
pub(super) struct HeldMessages {
    /// The sequence of the last result.
    pub(super) until: u64,
    pub(super) messages: Vec<CanonicalMessage>,
}
