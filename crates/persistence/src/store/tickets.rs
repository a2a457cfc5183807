use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, NewTicket, Scope, Ticket, TicketDigest};

use crate::StoreError;

/// Stores the tickets with which clients that cannot send a token join a chat.
#[async_trait]
pub trait Tickets: Send + Sync {
    /// Stores a ticket to a chat for the caller of the scope. Returns when it expires.
    async fn create_ticket(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        ticket: NewTicket,
    ) -> Result<DateTime<Utc>, StoreError>;

    /// Redeems a ticket. Returns `None` unless it is for this chat, has not expired and was not
    /// redeemed before.
    ///
    /// The call takes no scope, because the ticket contains the caller. If several calls race with
    /// one ticket, one of them gets it. A call that fails may have used the ticket up.
    async fn redeem_ticket(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        digest: TicketDigest,
    ) -> Result<Option<Ticket>, StoreError>;
}
