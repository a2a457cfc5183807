use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::{DropReason, Dropped, Repair, Repaired, UnsettledCall};

/// A conversation in the form of a dialect.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Rendered {
    /// The messages.
    pub messages: Vec<Value>,
    /// What was left out, by position.
    pub dropped: Vec<Dropped>,
    /// What was changed, by position.
    pub repaired: Vec<Repaired>,
    /// The original of each name that was changed.
    pub names: BTreeMap<String, String>,
    /// The original of each call id that was changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ids: BTreeMap<String, String>,
    /// The instructions, where the form wants them apart from the messages; in the form's own blocks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Value>,
    /// The calls without results for which [`Unsettled::Reject`](crate::Unsettled) rendered nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<UnsettledCall>,
}

/// Where a message that is being rendered comes from.
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
