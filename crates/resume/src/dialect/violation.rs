use serde::Serialize;

/// A rule of a dialect that a message breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The position of the message.
    pub index: usize,
    /// The name of the rule.
    pub rule: &'static str,
    /// What is wrong with the message.
    pub detail: String,
}

/// The name of the rule that a message breaks, and what is wrong with the message.
pub(super) type Problem = (&'static str, String);

impl Violation {
    pub(super) fn new(index: usize, rule: &'static str, detail: impl Into<String>) -> Self {
        Self { index, rule, detail: detail.into() }
    }

    /// Creates the violations for the problems of the message at a position.
    pub(super) fn from_problems(
        index: usize,
        problems: impl IntoIterator<Item = Problem>,
    ) -> impl Iterator<Item = Self> {
        problems.into_iter().map(move |(rule, detail)| Self::new(index, rule, detail))
    }
}
