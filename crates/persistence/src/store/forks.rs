use async_trait::async_trait;
use records::{ChatId, ChatSession, NewFork, Scope};

use crate::StoreError;

/// Creates chats that continue from an earlier point of another chat.
#[async_trait]
pub trait Forks: Send + Sync {
    /// Creates a chat session that holds the messages of a chat below a sequence, in their current
    /// state: with their sequences, ids, bodies and tombstones.
    ///
    /// Afterwards the two chats are independent: appends, edits and deletions in one never appear
    /// in the other. The fork is running, whatever the status of its source. It has the workflow,
    /// team and visibility of the source. Its context snapshot is the newest stored one that the
    /// source took at or below the sequence, or empty if there is none. It has no artifact, input
    /// requests, calls or participants. The source does not change visibly.
    ///
    /// The call is [`UpgradePending`](StoreError::UpgradePending) while an upgrade is not finished,
    /// because older processes would misread a fork.
    ///
    /// The number of writes does not grow with the number of messages. If the id exists, the call
    /// is [`ChatExists`](StoreError::ChatExists), as in a creation;
    /// [`fork_chat_once`](crate::fork_chat_once) recognises a repeat. If the chat has not reached
    /// the sequence, it is [`Invalid`](StoreError::Invalid).
    async fn fork_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fork: NewFork,
    ) -> Result<ChatSession, StoreError>;
}
