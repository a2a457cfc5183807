use serde::Serialize;

/// A rule of a dialect that a message breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The position of the message.
    pub index: usize,
    /// Names the rule.
    pub rule: &'static str,
    /// What is wrong.
    pub detail: String,
}

/// The rule that a message breaks, and what is wrong.
pub(super) type Problem = (&'static str, String);

impl Violation {
    pub(super) fn new(index: usize, rule: &'static str, detail: impl Into<String>) -> Self {
        Self { index, rule, detail: detail.into() }
    }

    /// Returns the violations by the message at a position.
    pub(super) fn at(
        index: usize,
        problems: impl IntoIterator<Item = Problem>,
    ) -> impl Iterator<Item = Self> {
        problems.into_iter().map(move |(rule, detail)| Self::new(index, rule, detail))
    }
}
