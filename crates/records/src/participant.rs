use chrono::{DateTime, Utc};

use crate::{DisplayName, UserId};

/// A participant of a chat. Participation does not grant access, and access does not require it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// The id of the participant.
    pub user_id: UserId,
    /// The display name of the participant, if they gave one.
    pub display_name: Option<DisplayName>,
    /// When the participant joined.
    pub joined_at: DateTime<Utc>,
}
