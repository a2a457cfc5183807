use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use records::{ChatId, Credential, Permission, Scope};

use super::conditions::{Conditions, Unconditional};
use super::identity::identified;
use super::needs::{Needed, Read};
use super::scope::{describe_chat, read_chat_scope};
use super::ticket::identify_by_ticket;
use crate::live::{DownloadLimits, Position, Shutdown, StreamLimits};
use crate::operation::{Description, Input, header};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// A request to one chat whose response lasts: like [`ChatScope`](super::ChatScope), with the limits
/// that end it.
#[derive(Debug)]
pub(crate) struct ChatStream {
    pub(crate) scope: Scope,
    pub(crate) chat_id: ChatId,
    pub(crate) limits: StreamLimits,
}

impl FromRequestParts<AppState> for ChatStream {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = match identify_by_ticket(parts, state).await? {
            Some(identity) => identity,
            None => identified(parts, state).await?,
        };
        let (scope, chat_id) = read_chat_scope(parts, &identity, Permission::Read, state).await?;
        let Ok(shutdown) = Shutdown::from_request_parts(parts, state).await;
        let token = state.authenticator.watch(&identity, &scope.app_id);
        let limits = state.hub.stream_limits(&scope, &chat_id, token, shutdown);
        Ok(Self { scope, chat_id, limits })
    }
}

impl Input for ChatStream {
    fn describe(description: &mut Description) {
        describe_chat(description, Permission::Read);
        // A ticket is redeemed, which is a write.
        description.problems(&[ProblemKind::OUTCOME_UNKNOWN]);
    }
}

/// A request for a download of one chat: like [`ChatScope`](super::ChatScope), with the limits that end it early.
#[derive(Debug)]
pub(crate) struct ChatDownload<P = Read, C = Unconditional> {
    pub(crate) scope: Scope,
    pub(crate) chat_id: ChatId,
    pub(crate) limits: DownloadLimits,
    kind: PhantomData<(P, C)>,
}

impl<P: Needed, C: Conditions> FromRequestParts<AppState> for ChatDownload<P, C> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let (scope, chat_id) = read_chat_scope(parts, &identity, P::PERMISSION, state).await?;
        let token = state.authenticator.watch(&identity, &scope.app_id);
        let limits = state.hub.download_limits(&scope.needing(Permission::Read), &chat_id, token);
        Ok(Self { scope, chat_id, limits, kind: PhantomData })
    }
}

impl<P: Needed, C: Conditions> Input for ChatDownload<P, C> {
    fn describe(description: &mut Description) {
        describe_chat(description, P::PERMISSION);
        C::describe(description);
        description.no_deadline();
    }
}

/// What a ticket takes over from the token of its creator.
#[derive(Debug)]
pub(crate) struct Bearer {
    /// Whether the caller is a program with a token of the role `service`.
    pub(crate) is_service: bool,
    /// When the caller's token expires; `None` for never.
    pub(crate) expires_at: Option<DateTime<Utc>>,
    /// What the caller's token says about itself.
    pub(crate) credential: Credential,
}

impl FromRequestParts<AppState> for Bearer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let (is_service, expires_at) = (identity.is_service(), identity.expires_at);
        Ok(Self { is_service, expires_at, credential: identity.credential() })
    }
}

impl Input for Bearer {}

/// The position of a reader that reconnects, from the header `Last-Event-ID`.
#[derive(Debug)]
pub(crate) struct LastEventId(pub(crate) Option<Position>);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

impl<S: Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        // A browser without an id sends an empty header.
        let Some(id) = parts.headers.get(LAST_EVENT_ID).filter(|id| !id.is_empty()) else {
            return Ok(Self(None));
        };
        let id = id.to_str().map_or(Err("must be the id of an event"), str::parse);
        id.map(|id| Self(Some(id)))
            .map_err(|rule| Problem::invalid_parameter("Last-Event-ID", rule))
    }
}

impl Input for LastEventId {
    fn describe(description: &mut Description) {
        description.parameter(header("Last-Event-ID", "The id of the last received event", "41"));
    }
}
