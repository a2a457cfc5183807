use super::violation::{Problem, Violation};

/// The first violations that a validator finds.
///
/// The list is bounded, because one transcript may break its rules millions of times.
#[derive(Debug, Default)]
pub(super) struct ViolationList(Vec<Violation>);

impl ViolationList {
    /// The largest number of violations that a list keeps.
    pub(super) const MAX: usize = 1_000;

    /// Adds a violation if there is room.
    pub(super) fn push(&mut self, violation: Violation) {
        self.extend([violation]);
    }

    /// Adds the problems of the message at a position while there is room.
    pub(super) fn report(&mut self, index: usize, problems: impl IntoIterator<Item = Problem>) {
        self.extend(Violation::from_problems(index, problems));
    }

    /// Returns the violations of both lists, ordered by position.
    pub(super) fn merged_with(self, other: Self) -> Vec<Violation> {
        let mut violations = [self.0, other.0].concat();
        violations.sort_by_key(|violation| violation.index);
        violations
    }

    /// Returns the violations, ordered by position.
    pub(super) fn into_sorted(self) -> Vec<Violation> {
        self.merged_with(Self::default())
    }
}

/// Adds violations while there is room.
impl Extend<Violation> for ViolationList {
    fn extend<I: IntoIterator<Item = Violation>>(&mut self, violations: I) {
        let room = Self::MAX.saturating_sub(self.0.len());
        self.0.extend(violations.into_iter().take(room));
    }
}
