use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, NewTicket, Scope, Ticket, TicketDigest};

use crate::StoreError;

/// Keeps the tickets with which chats are joined by clients that cannot show a token.
#[async_trait]
pub trait Tickets: Send + Sync {
    /// Keeps a ticket to a chat for the caller of the scope; returns when it expires.
    async fn create_ticket(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        ticket: NewTicket,
    ) -> Result<DateTime<Utc>, StoreError>;

    /// Uses a ticket up; `None` unless it is one to this chat, has not expired and was never used.
    ///
    /// It takes no scope: the ticket says who calls. Of any number of calls with one ticket one is
    /// answered with it. A call that fails may have used it up.
    async fn redeem_ticket(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        digest: TicketDigest,
    ) -> Result<Option<Ticket>, StoreError>;
}
