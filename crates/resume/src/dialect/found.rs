use super::violation::Violation;

/// The first violations that a validator finds: one transcript may break its rules millions of times.
#[derive(Debug, Default)]
pub(super) struct Found(Vec<Violation>);

impl Found {
    /// As many as are kept of those found in one go.
    pub(super) const MOST: usize = 1_000;

    /// Adds a violation while there is room.
    pub(super) fn push(&mut self, violation: Violation) {
        self.extend([violation]);
    }

    /// Returns them, with those found in another go, by position.
    pub(super) fn and(self, other: Self) -> Vec<Violation> {
        let mut found = [self.0, other.0].concat();
        found.sort_by_key(|violation| violation.index);
        found
    }

    /// Returns them by position.
    pub(super) fn sorted(self) -> Vec<Violation> {
        self.and(Self::default())
    }
}

/// Takes no more than there is room for.
impl Extend<Violation> for Found {
    fn extend<I: IntoIterator<Item = Violation>>(&mut self, violations: I) {
        let room = Self::MOST.saturating_sub(self.0.len());
        self.0.extend(violations.into_iter().take(room));
    }
}
