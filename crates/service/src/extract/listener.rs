use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use records::{ChatId, Scope};

use super::scope::{InChat, in_chat};
use super::ticket::identify_by_ticket;
use crate::live::{Ends, Position, Shutdown};
use crate::problem::Problem;
use crate::state::AppState;

/// A call to one chat that goes on: as [`InChat`](super::InChat), and what ends it.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) scope: Scope,
    pub(crate) chat_id: ChatId,
    pub(crate) ends: Ends,
}

impl FromRequestParts<AppState> for Listener {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = match identify_by_ticket(parts, state).await? {
            Some(identity) => identity,
            None => state.authenticator.identify(&parts.headers)?,
        };
        let InChat { scope, chat_id } = in_chat(parts, &identity, state).await?;
        let Ok(shutdown) = Shutdown::from_request_parts(parts, state).await;
        let ends = Ends::new(&scope, &chat_id, identity.expires_at, shutdown, state);
        Ok(Self { scope, chat_id, ends })
    }
}

/// Until when the caller's token is good; `None` for ever.
#[derive(Debug)]
pub(crate) struct TokenExpiry(pub(crate) Option<DateTime<Utc>>);

impl FromRequestParts<AppState> for TokenExpiry {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        Ok(Self(state.authenticator.identify(&parts.headers)?.expires_at))
    }
}

/// Where a reader that lost its connection was.
#[derive(Debug)]
pub(crate) struct LastEventId(pub(crate) Option<Position>);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

impl<S: Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        // A browser sends an empty one where it has none.
        let Some(id) = parts.headers.get(LAST_EVENT_ID).filter(|id| !id.is_empty()) else {
            return Ok(Self(None));
        };
        let id = id.to_str().map_or(Err("must be the id of an event"), str::parse);
        id.map(|id| Self(Some(id)))
            .map_err(|rule| Problem::invalid_parameter("Last-Event-ID", rule))
    }
}
