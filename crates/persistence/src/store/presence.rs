use std::time::Duration;

use async_trait::async_trait;
use records::{ChatId, Connection, Present, Scope};

use crate::StoreError;

/// Keeps who is present in chats: who listens to them, from whichever process.
///
/// Whoever is announced is present for a while and no longer, so that nobody stays whose process has
/// died. It is the clock of who reads that decides.
#[async_trait]
pub trait Presence: Send + Sync {
    /// Announces connections, each for so long from now.
    ///
    /// One that was announced before is present for so long from now on, and says no more to who
    /// listens. Whether a chat may be seen was decided when somebody began to listen to it; for one
    /// that is not there an announcement means nothing.
    async fn announce(
        &self,
        scope: &Scope,
        connections: &[Connection],
        lasting: Duration,
    ) -> Result<(), StoreError>;

    /// Takes announcements back. One that was never made is none.
    async fn withdraw(&self, scope: &Scope, connections: &[Connection]) -> Result<(), StoreError>;

    /// Returns who is present in a chat now.
    async fn presence(&self, scope: &Scope, chat_id: &ChatId) -> Result<ChatPresence, StoreError>;
}

/// Who is present in a chat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatPresence {
    /// The persons, who has been there for longest first, and those of one moment by id; at most
    /// [`Limits::PRESENT`](records::Limits::PRESENT).
    pub present: Vec<Present>,
    /// How many persons there are altogether.
    pub count: u64,
    /// After how long this may be another without anybody saying so; `None` where nobody is present.
    pub lasting: Option<Duration>,
}
