use crate::ChatId;

/// The chat from which a fork was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkOrigin {
    /// The source of the fork.
    pub chat_id: ChatId,
    /// The number of messages shared with the source, which is the sequence of the first own message.
    pub sequence: u64,
}
