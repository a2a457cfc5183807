use axum::extract::State;
use axum::response::Response;
use utoipa::IntoParams;

use crate::config::LimitsConfig;
use crate::extract::{FromParams, Params, Query, SocketRequest, TICKET_PARAM};
use crate::live::{Position, Shutdown};
use crate::openapi::SocketPath;
use crate::problem::{Problem, ProblemKind, SocketProblems};
use crate::state::AppState;
use crate::websocket;

/// Where to begin.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct JoinQuery {
    /// The last sequence that the client holds, or the `id` of the last frame that had one; -1 for
    /// nothing. Without it a chat that goes on comes from its beginning, and one that has ended from
    /// its end.
    #[param(value_type = Option<String>, example = "41")]
    after: Option<Position>,
    /// A ticket, instead of a token, from a client that cannot show one.
    #[param(value_type = Option<String>)]
    #[expect(dead_code, reason = "is read where the caller is recognised")]
    ticket: Option<String>,
}

impl FromParams for JoinQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { after: params.take("after")?, ticket: params.take(TICKET_PARAM)? })
    }
}

/// Opens a WebSocket to a chat: its events as frames, and messages of its user.
///
/// The token stands in the `Authorization` header, among the protocols offered as `bearer.…` beside
/// `reprise.v1`, or in a first frame `{"type": "authorize", "token": "…"}`.
#[utoipa::path(
    get, path = "/ws/{workflow_name}/{app_id}/{chat_id}/{user_id}", tag = "events",
    operation_id = "join", params(
        SocketPath, JoinQuery,
        ("Sec-WebSocket-Protocol" = Option<String>, Header, description = "Answered with `reprise.v1` where that is offered", example = "reprise.v1"),
    ),
    responses(
        (status = 101, description = "A WebSocket, whose frames docs/API.md describes"),
        SocketProblems,
    ),
)]
pub(crate) async fn join(
    State(state): State<AppState>,
    SocketRequest { target, identity, upgrade }: SocketRequest,
    Query(JoinQuery { after, .. }): Query<JoinQuery>,
    shutdown: Shutdown,
) -> Result<Response, Problem> {
    let handshake = websocket::Handshake { target, after, shutdown, state };
    let admission = match identity {
        Some(identity) => Some(handshake.admit(&identity).await?),
        None => None,
    };
    let detail = "the request must ask for an upgrade to WebSocket, version 13";
    let upgrade = upgrade.ok_or_else(|| Problem::new(ProblemKind::UPGRADE_REQUIRED, detail))?;
    Ok(handshake.upgrade(upgrade, admission))
}
