use std::time::Duration;

use async_trait::async_trait;
use records::{ChatId, Connection, Present, Scope};

use crate::StoreError;

/// Stores which users are present in chats: the subscribers of a chat, in any process.
///
/// An announced connection is present for a limited time, so that the connections of a dead process
/// disappear. The clock of the reading process decides whether an announcement has expired.
#[async_trait]
pub trait Presence: Send + Sync {
    /// Announces connections, each for `lasting` from now.
    ///
    /// Announcing a connection again extends its time and notifies no listener. The store does not
    /// check whether the chat exists or is visible, because the caller checked that when the
    /// subscription began. An announcement in an unknown chat has no effect.
    async fn announce(
        &self,
        scope: &Scope,
        connections: &[Connection],
        lasting: Duration,
    ) -> Result<(), StoreError>;

    /// Withdraws announcements. Withdrawing an unknown connection is no error.
    async fn withdraw(&self, scope: &Scope, connections: &[Connection]) -> Result<(), StoreError>;

    /// Returns the users who are present in a chat now.
    async fn presence(&self, scope: &Scope, chat_id: &ChatId) -> Result<ChatPresence, StoreError>;
}

/// The users present in a chat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatPresence {
    /// The users, longest present first, and those with the same time by id; at most
    /// [`Limits::PRESENT`](records::Limits::PRESENT).
    pub present: Vec<Present>,
    /// The total number of users present.
    pub count: u64,
    /// The time until the first announcement expires, after which the users may differ without a
    /// notification; `None` if no user is present.
    pub lasting: Option<Duration>,
}
