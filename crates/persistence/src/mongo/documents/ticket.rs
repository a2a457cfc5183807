use bson::{DateTime, RawDocument};
use chrono::Utc;
use records::{AppId, Caller, ChatId, NewTicket, Scope, TeamId, Ticket, UserId};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collections::TICKETS;
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::stored::{FieldError, read_record};

/// A stored ticket that admits a client to a chat.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TicketDocument {
    /// The digest of the ticket.
    #[serde(rename = "_id")]
    id: String,
    app_id: AppId,
    chat_id: ChatId,
    role: Role,
    user_id: Option<UserId>,
    team_id: Option<TeamId>,
    caller_expires_at: Option<DateTime>,
    expires_at: DateTime,
    redeemed_by: Option<String>,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    Service,
    User,
}

impl TicketDocument {
    /// Creates the document of a new ticket.
    pub(crate) fn new(
        scope: &Scope,
        chat_id: &ChatId,
        ticket: &NewTicket,
        expires_at: chrono::DateTime<Utc>,
    ) -> Self {
        let (role, user_id, team_id) = match scope.caller.clone() {
            Caller::Service => (Role::Service, None, None),
            Caller::User { user_id, team_id } => (Role::User, Some(user_id), team_id),
        };
        Self {
            id: ticket.digest.to_string(),
            app_id: scope.app_id.clone(),
            chat_id: chat_id.clone(),
            role,
            user_id,
            team_id,
            caller_expires_at: ticket.caller_expires_at.map(DateTime::from_chrono),
            expires_at: DateTime::from_chrono(expires_at),
            redeemed_by: None,
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl TryFrom<TicketDocument> for Ticket {
    type Error = FieldError;

    fn try_from(document: TicketDocument) -> Result<Self, FieldError> {
        let caller = match document.role {
            Role::Service => Caller::Service,
            Role::User => Caller::User {
                user_id: document.user_id.ok_or_else(|| FieldError::new("user_id"))?,
                team_id: document.team_id,
            },
        };
        let caller_expires_at = document.caller_expires_at.map(DateTime::to_chrono);
        Ok(Self { caller, caller_expires_at })
    }
}

/// Reads a ticket.
pub(crate) fn ticket_record(raw: &RawDocument) -> Result<Ticket, StoreError> {
    read_record::<TicketDocument, _>(TICKETS, raw)
}
