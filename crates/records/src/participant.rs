use chrono::{DateTime, Utc};

use crate::{DisplayName, UserId};

/// Somebody who takes part in a chat. That gives no access to it, and nobody needs it to have some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// Who it is.
    pub user_id: UserId,
    /// What they are called, if they have said so.
    pub display_name: Option<DisplayName>,
    /// When they joined.
    pub joined_at: DateTime<Utc>,
}
