/// Whether a chat is in use, put aside or removed. It is independent of the status of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Lifecycle {
    /// The chat is in use.
    #[default]
    Active,
    /// The chat is put aside: lists leave it out unless they ask for it. A new message makes it active again.
    Archived,
    /// The chat does not exist for its callers; it can be undeleted until it is purged.
    Deleted,
    /// Everything that was said in the chat is gone. Its id stays taken, and its numbers stay in the statistics.
    Purged,
}

impl Lifecycle {
    /// Every lifecycle, ordered by number.
    pub const ALL: [Self; 4] = [Self::Active, Self::Archived, Self::Deleted, Self::Purged];

    /// Returns the number in the store, 1 to 4.
    pub fn number(self) -> i32 {
        match self {
            Self::Active => 1,
            Self::Archived => 2,
            Self::Deleted => 3,
            Self::Purged => 4,
        }
    }

    /// Returns the lifecycle with that number.
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|lifecycle| lifecycle.number() == number)
    }

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Archived => "archived",
            Self::Deleted => "deleted",
            Self::Purged => "purged",
        }
    }

    /// Returns whether the chat exists for its callers.
    pub fn exists(self) -> bool {
        self < Self::Deleted
    }
}
