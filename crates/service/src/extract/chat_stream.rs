use std::marker::PhantomData;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use records::{ChatId, Credential, Permission, Scope};

use super::conditions::{Conditions, Unconditional};
use super::identity::identified;
use super::needs::{Needed, Read};
use super::record_scope::DocumentsScope;
use super::scope::{describe_chat, read_chat_scope};
use super::ticket::identify_by_ticket;
use crate::live::{DocumentPosition, DownloadLimits, Position, Shutdown, StreamLimits};
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

/// A request to the documents of an app whose response lasts, with the limits that end it.
#[derive(Debug)]
pub(crate) struct DocumentsStream {
    pub(crate) scope: Scope,
    pub(crate) limits: StreamLimits,
}

impl FromRequestParts<AppState> for DocumentsStream {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let documents = DocumentsScope::<Read>::from_request_parts(parts, state).await?;
        let identity = identified(parts, state).await?;
        let Ok(shutdown) = Shutdown::from_request_parts(parts, state).await;
        let scope = documents.scope;
        let token = state.authenticator.watch(&identity, &scope.app_id);
        let limits = state.hub.app_stream_limits(&scope, token, shutdown);
        Ok(Self { scope, limits })
    }
}

impl Input for DocumentsStream {
    fn describe(description: &mut Description) {
        DocumentsScope::<Read>::describe(description);
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

/// A request to one chat whose response is a download, or lasts if the caller accepts events: with the limits of both.
#[derive(Debug)]
pub(crate) struct ChatReading {
    pub(crate) scope: Scope,
    pub(crate) chat_id: ChatId,
    pub(crate) download: DownloadLimits,
    pub(crate) stream: StreamLimits,
}

impl FromRequestParts<AppState> for ChatReading {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let (scope, chat_id) = read_chat_scope(parts, &identity, Permission::Read, state).await?;
        let Ok(shutdown) = Shutdown::from_request_parts(parts, state).await;
        let token = || state.authenticator.watch(&identity, &scope.app_id);
        let download = state.hub.download_limits(&scope, &chat_id, token());
        let stream = state.hub.stream_limits(&scope, &chat_id, token(), shutdown);
        Ok(Self { scope, chat_id, download, stream })
    }
}

impl Input for ChatReading {
    fn describe(description: &mut Description) {
        describe_chat(description, Permission::Read);
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
pub(crate) struct LastEventId<P = Position>(pub(crate) Option<P>);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

impl<S: Sync, P: FromStr<Err = &'static str>> FromRequestParts<S> for LastEventId<P> {
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

impl<P: ExampleId> Input for LastEventId<P> {
    fn describe(description: &mut Description) {
        let described = "The id of the last received event";
        description.parameter(header("Last-Event-ID", described, P::EXAMPLE));
    }
}

/// A position of a stream.
pub(crate) trait ExampleId {
    /// The id of an event, as an example.
    const EXAMPLE: &'static str;
}

impl ExampleId for Position {
    const EXAMPLE: &'static str = "41";
}

impl ExampleId for DocumentPosition {
    const EXAMPLE: &'static str = "9f552f6c1d0e8a41.7";
}
