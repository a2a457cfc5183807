use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::config::LimitsConfig;
use crate::extract::{FromParams, Params, Query, SocketRequest, TICKET_PARAM, declared};
use crate::live::{Position, Shutdown};
use crate::operation::{Description, Output, Prepared};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;
use crate::websocket::{self, Envelope};

/// The position to start from.
#[derive(Debug, IntoParams)]
pub(crate) struct JoinQuery {
    /// The last sequence that the client has, or the `id` of the last frame with an `id`; -1 for none. By
    /// default a chat that is running or paused is sent from its beginning, and a chat that has ended from
    /// its end.
    #[param(value_type = Option<String>, example = "41")]
    after: Option<Position>,
    /// A ticket, instead of a token, for clients that cannot set headers.
    #[param(value_type = Option<String>)]
    #[expect(dead_code, reason = "is read where the caller is identified")]
    ticket: Option<String>,
}

impl FromParams for JoinQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { after: params.take("after")?, ticket: params.take(TICKET_PARAM)? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Opens a WebSocket to a chat: the service sends its events as frames, the client sends the user's inputs.
///
/// The client sends its token in one of three places: the `Authorization` header, the offered subprotocols (as
/// `bearer.…` beside `reprise.v1`), or the first frame `{"type": "authorize", "token": "…"}`. With the subprotocol
/// `mozaiks.v1` the frames have the envelope of `MozaiksAI`.
#[operation(
    answers = "A WebSocket; docs/api/live.md describes its frames",
    problems = [TOO_MANY_SUBSCRIBERS],
)]
pub(crate) async fn join(
    State(state): State<AppState>,
    Query(JoinQuery { after, .. }): Query<JoinQuery>,
    shutdown: Shutdown,
    // Last, because it may redeem a ticket.
    request: SocketRequest,
) -> Result<Prepared<Upgrade>, Problem> {
    admitted(state, request, after, shutdown, Envelope::Flat).await
}

/// Admits a caller, or upgrades the connection of a client that is to identify itself by its first frame.
///
/// A client that offers a subprotocol with an envelope gets that one instead.
pub(crate) async fn admitted(
    state: AppState,
    request: SocketRequest,
    after: Option<Position>,
    shutdown: Shutdown,
    envelope: Envelope,
) -> Result<Prepared<Upgrade>, Problem> {
    let SocketRequest { target, identity, upgrade, address } = request;
    let handshake = websocket::Handshake { target, after, shutdown, address, state, envelope };
    let admission = match identity {
        Some(identity) => Some(handshake.admit(&identity).await?),
        None => None,
    };
    let detail = "the request must be an upgrade to WebSocket version 13";
    let upgrade = upgrade.ok_or_else(|| Problem::new(ProblemKind::UPGRADE_REQUIRED, detail))?;
    Ok(Prepared::new(handshake.upgrade(upgrade, admission)))
}

/// The connection becomes a WebSocket.
pub(crate) enum Upgrade {}

impl Output for Upgrade {
    fn describe(description: &mut Description) {
        description.answers(StatusCode::SWITCHING_PROTOCOLS);
    }
}
