use axum::http::Method;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use records::TicketDigest;

use super::identity::origin;
use super::path::parse_path_param;
use super::query::params;
use super::scope::app_id;
use crate::auth::{Identity, unauthenticated};
use crate::problem::Problem;
use crate::state::AppState;

/// The query parameter that carries a ticket.
pub(crate) const TICKET_PARAM: &str = "ticket";

/// Identifies the caller by the ticket in the query, and redeems it; `None` if there is no ticket.
///
/// A ticket is redeemed once, so everything else about the request is checked before.
pub(super) async fn identify_by_ticket(
    parts: &mut Parts,
    state: &AppState,
) -> Result<Option<Identity>, Problem> {
    let Some(ticket) = params(parts)?.take::<String>(TICKET_PARAM)? else { return Ok(None) };
    if parts.headers.contains_key(AUTHORIZATION) {
        return Err(unauthenticated("send a token or a ticket, not both"));
    }
    if parts.method == Method::HEAD {
        // A client that only looks must not use up the ticket.
        return Err(unauthenticated("a ticket is used with GET"));
    }
    if state.authenticator.is_open() {
        // In open mode only programs of this machine may call, with a ticket too.
        state.authenticator.identify(&parts.method, &parts.headers).await?;
    }
    let app_id = app_id(parts).await?;
    let chat_id = parse_path_param(parts).await?;
    let digest = TicketDigest::of(&ticket);
    let redeemed = state.store.redeem_ticket(&app_id, &chat_id, digest).await?;
    let refused = || {
        unauthenticated("the ticket is not valid for this chat, has expired, or was used already")
    };
    let ticket = redeemed.ok_or_else(refused)?;
    let identity = state.authenticator.identify_by_ticket(app_id, ticket).await?;
    state.rates.check_person(identity.person())?;
    Ok(Some(identity.at(origin(parts))))
}
