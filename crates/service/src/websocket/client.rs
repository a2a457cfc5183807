use records::{ChatId, Scope, UserId};

use crate::live::{PresenceGuard, Subscription};

/// A client that was admitted to a chat, with its subscription.
pub(super) struct JoinedClient {
    pub(super) scope: Scope,
    pub(super) chat_id: ChatId,
    pub(super) user_id: UserId,
    pub(super) subscription: Subscription,
    /// Shows the person as present; `None` for a service.
    pub(super) presence: Option<PresenceGuard>,
}
