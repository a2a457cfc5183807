use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use records::{ChatId, Clock as _, Scope, SystemClock};

use super::scope::in_chat;
use crate::live::Position;
use crate::problem::Problem;
use crate::state::AppState;

/// A call to one chat that goes on: as [`InChat`](super::InChat), and until when it may.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) scope: Scope,
    pub(crate) chat_id: ChatId,
    /// How long the caller's token is good for; `None` for ever.
    pub(crate) expiry: Option<Duration>,
}

impl FromRequestParts<AppState> for Listener {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let (chat, expires_at) = in_chat(parts, state).await?;
        let left = expires_at.map(|expires_at| (expires_at - SystemClock.now()).to_std());
        let expiry = left.map(Result::unwrap_or_default);
        Ok(Self { scope: chat.scope, chat_id: chat.chat_id, expiry })
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
