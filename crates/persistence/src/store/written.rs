use std::ops::Deref;

use super::Outcome;

/// A record, and whether this call stored it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written<T> {
    /// The record.
    pub record: T,
    /// Whether this call stored it, or an earlier one with the same id.
    pub outcome: Outcome,
}

impl<T> Written<T> {
    /// A record that this call has stored.
    pub(crate) fn stored(record: T) -> Self {
        Self { record, outcome: Outcome::Stored }
    }

    /// A record that was found.
    pub(crate) fn found(record: T, is_ours: bool) -> Self {
        Self { record, outcome: Outcome::of_found(is_ours) }
    }
}

impl<T> Deref for Written<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.record
    }
}
