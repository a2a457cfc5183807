use axum::extract::State;
use operation::operation;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::adapters::ForeignQuery;
use crate::api::events::join::{Upgrade, admitted};
use crate::config::LimitsConfig;
use crate::extract::{FromParams, Params, SocketRequest, TICKET_PARAM, declared};
use crate::live::{Position, Shutdown};
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::state::AppState;
use crate::websocket::Envelope;

/// The position to start from.
#[derive(Debug, IntoParams)]
pub(crate) struct JoinWorkflowQuery {
    /// The last sequence that the client has; -1 for none.
    #[param(value_type = Option<String>, example = "41")]
    after: Option<Position>,
    /// A ticket, instead of a token, for clients that cannot set headers.
    #[param(value_type = Option<String>)]
    #[expect(dead_code, reason = "is read where the caller is identified")]
    ticket: Option<String>,
}

impl FromParams for JoinWorkflowQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        const TOKEN: &str = "access_token";
        if params.take::<String>(TOKEN)?.is_some() {
            // Proxies and histories keep addresses.
            let detail = "is not accepted in an address; open the socket with a ticket";
            return Err(Problem::invalid_parameter(TOKEN, detail));
        }
        Ok(Self { after: params.take("after")?, ticket: params.take(TICKET_PARAM)? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Opens a WebSocket to a chat, with frames in the envelope of `MozaiksAI`: `{"type", "seq", "timestamp", "data"}`.
///
/// `seq` is the position of a message; frames of other events have none.
#[operation(
    answers = "A WebSocket; docs/ADAPTERS.md describes its frames",
    problems = [TOO_MANY_SUBSCRIBERS],
)]
pub(crate) async fn join_workflow(
    State(state): State<AppState>,
    ForeignQuery(JoinWorkflowQuery { after, .. }): ForeignQuery<JoinWorkflowQuery>,
    shutdown: Shutdown,
    // Last, because it may redeem a ticket.
    request: SocketRequest,
) -> Result<Prepared<Upgrade>, Problem> {
    admitted(state, request, after, shutdown, Envelope::Nested).await
}
