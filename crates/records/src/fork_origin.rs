use crate::ChatId;

/// Where a chat was forked from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkOrigin {
    /// The chat it goes on from.
    pub chat_id: ChatId,
    /// How many of its messages were taken over, and so the sequence of the first that is the fork's own.
    pub sequence: u64,
}
