use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use records::{ChatId, Scope};

use super::scope::{InChat, in_chat};
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
        let (InChat { scope, chat_id }, expires_at) = in_chat(parts, state).await?;
        let Ok(shutdown) = Shutdown::from_request_parts(parts, state).await;
        let ends = Ends::new(&scope, &chat_id, expires_at, shutdown, state);
        Ok(Self { scope, chat_id, ends })
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
