use bson::{Bson, DateTime, Document, RawDocument, doc};
use chrono::Utc;
use records::{Caller, ChatId, NewTicket, Scope, TeamId, Ticket, UserId};

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{SCHEMA_VERSION, TICKETS};

const SERVICE: &str = "service";
const USER: &str = "user";

/// Returns the document of a ticket that nobody has used.
pub(crate) fn ticket_document(
    scope: &Scope,
    chat_id: &ChatId,
    ticket: &NewTicket,
    expires_at: chrono::DateTime<Utc>,
) -> Document {
    let (role, user_id, team_id) = match &scope.caller {
        Caller::Service => (SERVICE, None, None),
        Caller::User { user_id, team_id } => (USER, Some(user_id), team_id.as_ref()),
    };
    doc! {
        "_id": ticket.digest.to_string(),
        "app_id": scope.app_id.as_str(),
        "chat_id": chat_id.as_str(),
        "role": role,
        "user_id": user_id.map(UserId::as_str),
        "team_id": team_id.map(TeamId::as_str),
        "caller_expires_at": ticket.caller_expires_at.map(DateTime::from_chrono),
        "expires_at": DateTime::from_chrono(expires_at),
        "redeemed_by": Bson::Null,
        "schema_version": SCHEMA_VERSION,
    }
}

/// Reads the document of a ticket.
pub(crate) fn ticket_record(raw: &RawDocument) -> Result<Ticket, StoreError> {
    let id = raw.get_str("_id").unwrap_or("(unreadable)");
    let fields = Fields::open(TICKETS, id, raw)?;
    let caller = match fields.field("role")?.text()? {
        SERVICE => Caller::Service,
        USER => Caller::User {
            user_id: fields.parsed("user_id")?,
            team_id: fields.field("team_id")?.optional_parsed()?,
        },
        _ => return Err(fields.corrupt("role", None)),
    };
    let caller_expires_at = fields.field("caller_expires_at")?.optional_time()?;
    Ok(Ticket { caller, caller_expires_at })
}
