use chrono::{DateTime, Utc};

use crate::{ChatId, ConnectionId, DisplayName, UserId};

/// A connection over which a person listens to a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Names it.
    pub connection_id: ConnectionId,
    /// The chat.
    pub chat_id: ChatId,
    /// The person.
    pub user_id: UserId,
}

/// A person who is present in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// Who it is.
    pub user_id: UserId,
    /// What they are called, if they take part in the chat and have said so.
    pub display_name: Option<DisplayName>,
    /// When the oldest of their connections was announced.
    pub since: DateTime<Utc>,
    /// How many connections they have.
    pub connections: u64,
}
