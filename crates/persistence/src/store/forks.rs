use async_trait::async_trait;
use records::{ChatId, ChatSession, NewFork, Scope};

use crate::StoreError;

/// Makes chats that go on from an earlier point of another.
#[async_trait]
pub trait Forks: Send + Sync {
    /// Creates a chat session that holds the messages of a chat below a sequence, as they are at this
    /// moment: with their sequences, ids, bodies and tombstones.
    ///
    /// From then on each goes its own way: what is appended to, edited or deleted in one shows in the
    /// other never. The fork is running, whatever the status of its source; workflow, team and visibility are
    /// those of the source. Its context snapshot is the newest that is kept of the source and was taken
    /// at or below the sequence, and empty where there is none. It has no artifact, input requests, calls or participants. The source does
    /// not change in any way that shows.
    ///
    /// While an upgrade is not finished the call is [`UpgradePending`](StoreError::UpgradePending): older
    /// processes would misread what it stores.
    ///
    /// The number of writes does not grow with the number of messages. An id that is taken is
    /// [`ChatExists`](StoreError::ChatExists), as in a creation; a sequence that the chat has not reached
    /// is [`Invalid`](StoreError::Invalid).
    async fn fork_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fork: NewFork,
    ) -> Result<ChatSession, StoreError>;
}
