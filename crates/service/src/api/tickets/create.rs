use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use persistence::Store;
use records::{NewTicket, TicketDigest};
use serde::Serialize;
use utoipa::ToSchema;

use crate::extract::{ChatScope, Json, OptionalJson, Query, TokenExpiry};
use crate::openapi::ChatPath;
use crate::problem::{Problem, ProblemKind, TicketProblems};
use crate::wire::{EmptyRequest, Time};

/// How long a ticket is valid: long enough for a page to connect after requesting it.
const VALID_FOR: Duration = Duration::from_secs(30);

/// The number of random bytes in a ticket.
const TICKET_BYTES: usize = 32;

/// A ticket to a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ticket)]
pub(crate) struct TicketResponse {
    /// The value of the query parameter `ticket`; valid for one connection.
    #[schema(example = "8mJ1v0kPp4m2lq3Yw1f3cQ7cEo6a2mXn5tq0sJkV9bE")]
    ticket: String,
    /// The connection must be opened before this time.
    expires_at: Time,
}

/// Creates a ticket: a client that cannot set headers opens `events` or a WebSocket with it, as the caller.
///
/// A ticket is valid for 30 seconds, for this chat, once. A stream that was opened with it ends when the
/// caller's token expires.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/tickets", tag = "events",
    operation_id = "create_ticket", params(ChatPath), request_body = Option<EmptyRequest>,
    responses(
        (status = 201, description = "The ticket", body = TicketResponse),
        TicketProblems,
    ),
)]
pub(crate) async fn create_ticket(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    TokenExpiry(caller_expires_at): TokenExpiry,
    Query(()): Query<()>,
    OptionalJson(_empty): OptionalJson<EmptyRequest>,
) -> Result<(StatusCode, Json<TicketResponse>), Problem> {
    let ticket = random_text()?;
    let digest = TicketDigest::of(&ticket);
    let new = NewTicket { digest, valid_for: VALID_FOR, caller_expires_at };
    let expires_at = store.create_ticket(&scope, &chat_id, new).await?.into();
    Ok((StatusCode::CREATED, Json(TicketResponse { ticket, expires_at })))
}

fn random_text() -> Result<String, Problem> {
    let mut bytes = [0; TICKET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::new(ProblemKind::INTERNAL, "failed to generate a random ticket").caused_by(error)
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
