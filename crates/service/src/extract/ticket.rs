use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use records::TicketDigest;

use super::path::parse_path_param;
use super::query::params;
use super::scope::app_id;
use crate::auth::{Identity, unauthenticated};
use crate::problem::Problem;
use crate::state::AppState;

/// The parameter that a ticket stands in.
pub(crate) const TICKET: &str = "ticket";

/// Recognises a caller of a chat by the ticket in the query, which is used up; `None` where there is
/// none.
pub(super) async fn identify_by_ticket(
    parts: &mut Parts,
    state: &AppState,
) -> Result<Option<Identity>, Problem> {
    let Some(ticket) = params(parts)?.take::<String>(TICKET)? else { return Ok(None) };
    if parts.headers.contains_key(AUTHORIZATION) {
        return Err(unauthenticated("a token or a ticket is needed, and there are both"));
    }
    if state.authenticator.is_open() {
        // Only programs of this machine may call.
        state.authenticator.identify(&parts.headers)?;
    }
    let app_id = app_id(parts).await?;
    let chat_id = parse_path_param(parts, "chat_id").await?;
    let digest = TicketDigest::of(&ticket);
    let redeemed = state.store.redeem_ticket(&app_id, &chat_id, digest).await?;
    let refused = || unauthenticated("the ticket is not one to this chat, or no longer");
    Identity::of_ticket(app_id, redeemed.ok_or_else(refused)?).map(Some)
}
