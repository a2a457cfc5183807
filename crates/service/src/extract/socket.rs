use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use records::{AppId, ChatId, Origin, Permission, UserId, WorkflowName};

use super::identity::{identified, origin};
use super::path::{PathParam, parse_path_param};
use super::query::params;
use super::scope::{app_id, describe_chat};
use super::ticket::{TICKET_PARAM, identify_by_ticket};
use crate::admission::CallerAddress;
use crate::auth::{Identity, offered_token, session, unauthenticated};
use crate::operation::{Description, Input, header};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// A request to open a WebSocket to a chat.
#[derive(Debug)]
pub(crate) struct SocketRequest {
    pub(crate) target: SocketTarget,
    /// The caller; `None` if the first frame must identify it.
    pub(crate) identity: Option<Identity>,
    /// `None` if the request asks for no upgrade to WebSocket.
    pub(crate) upgrade: Option<WebSocketUpgrade>,
    /// The address of the client, if known.
    pub(crate) address: Option<IpAddr>,
}

/// The chat that a socket is opened to, and the user that joins it.
#[derive(Debug)]
pub(crate) struct SocketTarget {
    pub(crate) workflow_name: WorkflowName,
    pub(crate) app_id: AppId,
    pub(crate) chat_id: ChatId,
    pub(crate) user_id: UserId,
    /// Where the request comes from.
    pub(crate) origin: Option<Arc<Origin>>,
}

impl FromRequestParts<AppState> for SocketRequest {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        state.authenticator.check_origin(&parts.headers)?;
        let upgrade = WebSocketUpgrade::from_request_parts(parts, state).await.ok();
        let has_ticket = has_ticket(parts)?;
        if upgrade.is_none() && has_ticket {
            let detail = "the request must be an upgrade to WebSocket version 13";
            return Err(Problem::new(ProblemKind::UPGRADE_REQUIRED, detail));
        }
        let mut identity = if has_ticket { None } else { identify(parts, state).await? };
        if identity.is_none() && upgrade.is_none() {
            // Without an upgrade there is no first frame that could identify the caller.
            identity = Some(identified(parts, state).await?);
        }
        let target = SocketTarget {
            app_id: app_id(parts).await?,
            workflow_name: parse_path_param(parts).await?,
            chat_id: parse_path_param(parts).await?,
            user_id: parse_path_param(parts).await?,
            origin: origin(parts),
        };
        if has_ticket {
            if offered_token(&parts.headers).is_some() {
                return Err(unauthenticated(ONE_TOKEN));
            }
            identity = identify_by_ticket(parts, state).await?;
        }
        let address = parts.extensions.get().map(|CallerAddress(address)| *address);
        Ok(Self { target, identity, upgrade, address })
    }
}

impl Input for SocketRequest {
    fn describe(description: &mut Description) {
        describe_chat(description, Permission::Read);
        WorkflowName::describe(description);
        UserId::describe(description);
        let text = "`reprise.v1` or `mozaiks.v1` is accepted if offered";
        description.parameter(header("Sec-WebSocket-Protocol", text, "reprise.v1"));
        description.problems(&[
            ProblemKind::FORBIDDEN_OWNER,
            ProblemKind::UPGRADE_REQUIRED,
            // A ticket is redeemed, which is a write.
            ProblemKind::OUTCOME_UNKNOWN,
        ]);
    }
}

const ONE_TOKEN: &str = "send one token or one ticket, not both and not two tokens";

/// Identifies the caller by a header, a cookie or an offered subprotocol; `None` if there is neither.
async fn identify(parts: &Parts, state: &AppState) -> Result<Option<Identity>, Problem> {
    let authenticator = &state.authenticator;
    let is_in_header = parts.headers.contains_key(AUTHORIZATION);
    match offered_token(&parts.headers) {
        Some(_) if is_in_header => Err(unauthenticated(ONE_TOKEN)),
        Some(token) => {
            let identity = authenticator.verify(token).await?;
            state.rates.check_person(identity.person())?;
            Ok(Some(identity.at(origin(parts))))
        }
        None if is_in_header || authenticator.is_open() || session(&parts.headers).is_some() => {
            identified(parts, state).await.map(Some)
        }
        None => Ok(None),
    }
}

fn has_ticket(parts: &Parts) -> Result<bool, Problem> {
    Ok(params(parts)?.take::<String>(TICKET_PARAM)?.is_some())
}
