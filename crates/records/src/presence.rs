use chrono::{DateTime, Utc};

use crate::{ChatId, ConnectionId, DisplayName, UserId};

/// A connection over which a person listens to a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// The id of the connection.
    pub connection_id: ConnectionId,
    /// The chat.
    pub chat_id: ChatId,
    /// The person.
    pub user_id: UserId,
}

/// A person who is present in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// The id of the person.
    pub user_id: UserId,
    /// The display name of the person, if they are a participant and gave one.
    pub display_name: Option<DisplayName>,
    /// When the oldest connection of the person was announced.
    pub since: DateTime<Utc>,
    /// The number of connections of the person.
    pub connections: u64,
}
