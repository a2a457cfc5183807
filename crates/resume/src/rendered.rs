use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::{DropReason, Dropped, Repair, Repaired, UnsettledCall};

/// A conversation, rendered in a dialect.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Rendered {
    /// The messages.
    pub messages: Vec<Value>,
    /// The messages and results that were dropped, by position.
    pub dropped: Vec<Dropped>,
    /// The changes to messages that were kept, by position.
    pub repaired: Vec<Repaired>,
    /// The original of each name that was changed.
    pub names: BTreeMap<String, String>,
    /// The original of each call id that was changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ids: BTreeMap<String, String>,
    /// The system instructions, if the dialect keeps them apart from the messages; as its own blocks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Value>,
    /// The calls without results, under the policy [`Reject`](crate::UnsettledPolicy::Reject).
    ///
    /// If there are any, nothing is rendered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<UnsettledCall>,
}

/// The stored message that a part of a rendering comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) index: usize,
    pub(crate) sequence: u64,
}

impl Rendered {
    pub(crate) fn drop(&mut self, origin: Origin, reason: DropReason) {
        self.dropped.push(Dropped { index: origin.index, sequence: Some(origin.sequence), reason });
    }

    pub(crate) fn repair(&mut self, origin: Origin, repair: Repair) {
        self.repaired.push(Repaired { index: origin.index, sequence: origin.sequence, repair });
    }
}
