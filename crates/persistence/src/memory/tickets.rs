use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, NewTicket, Scope, Ticket, TicketDigest, UserId};

use super::{MemoryStore, held};
use crate::StoreError;
use crate::metrics::Call;
use crate::store::Tickets;

/// A ticket that was not redeemed.
#[derive(Debug)]
pub(super) struct Unused {
    app_id: AppId,
    chat_id: ChatId,
    ticket: Ticket,
    expires_at: DateTime<Utc>,
}

impl Unused {
    /// Returns whether the ticket is of a user of an app.
    pub(super) fn admits(&self, app_id: &AppId, user_id: &UserId) -> bool {
        self.app_id == *app_id && self.ticket.caller.person() == Some(user_id)
    }
}

#[async_trait]
impl Tickets for MemoryStore {
    async fn create_ticket(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        ticket: NewTicket,
    ) -> Result<DateTime<Utc>, StoreError> {
        self.observe(Call::CreateTicket, || {
            self.with_chat(scope, chat_id, |_| Ok(()))?;
            let now = self.clock.now();
            let expires_at = now + ticket.valid_for;
            let unused = Unused {
                app_id: scope.app_id.clone(),
                chat_id: chat_id.clone(),
                ticket: Ticket {
                    caller: scope.caller.clone(),
                    grant: ticket.grant,
                    caller_expires_at: ticket.caller_expires_at,
                    credential: ticket.credential,
                },
                expires_at,
            };
            let mut tickets = held(&self.tickets);
            tickets.retain(|_, unused| unused.expires_at > now);
            tickets.insert(ticket.digest, unused);
            Ok(expires_at)
        })
        .await
    }

    async fn redeem_ticket(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        digest: TicketDigest,
    ) -> Result<Option<Ticket>, StoreError> {
        self.observe(Call::RedeemTicket, || {
            let now = self.clock.now();
            let mut tickets = held(&self.tickets);
            let is_good = tickets.get(&digest).is_some_and(|unused| {
                unused.app_id == *app_id && unused.chat_id == *chat_id && unused.expires_at > now
            });
            let redeemed = if is_good { tickets.remove(&digest) } else { None };
            Ok(redeemed.map(|unused| unused.ticket))
        })
        .await
    }
}
