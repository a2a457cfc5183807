use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use operation::operation;
use persistence::Store;
use records::{Caller, Grant, NewTicket, Permission, Scope, TeamId, TicketDigest, UserId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::TICKET_VALID_FOR;
use crate::extract::needs::Read;
use crate::extract::{Bearer, ChatScope, Json, Keyed, OptionalJson, Query, check_acts_for};
use crate::openapi::values;
use crate::problem::{Problem, ProblemKind};
use crate::wire::Time;

/// The number of random bytes in a ticket.
const TICKET_BYTES: usize = 32;

/// The user for whom a ticket is: the caller, or the user that a service names.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTicket, example = json!({"user_id": "user_alice_456"}))]
pub(crate) struct NewTicketRequest {
    /// Required with a token of the role `service`.
    #[schema(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// The team of that user.
    #[schema(value_type = Option<values::Name>)]
    team_id: Option<TeamId>,
    /// What the connection may use of the permissions of that user: `["read"]`, or `["read", "say"]`. All of them if
    /// missing.
    permissions: Option<Vec<TicketPermission>>,
}

impl Keyed for NewTicketRequest {}

/// A permission that a ticket can be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TicketPermission {
    /// Receive the events of the chat.
    Read,
    /// Send what the user says, and be shown as present.
    Say,
}

impl NewTicketRequest {
    /// Returns what the ticket is narrowed to. Whatever is opened with a ticket reads.
    fn grant(&self) -> Result<Grant, Problem> {
        let permissions: Option<Vec<_>> = self.permissions.as_ref().map(|permissions| {
            let permission = |it: &TicketPermission| match it {
                TicketPermission::Read => Permission::Read,
                TicketPermission::Say => Permission::Say,
            };
            permissions.iter().map(permission).collect()
        });
        Grant::of(permissions.as_deref())
            .ok_or_else(|| Problem::invalid_body("/permissions", "must contain read"))
    }

    /// Returns the caller as whom the ticket opens a stream. A program's ticket is for one user, because the client that gets
    /// it could otherwise act as any.
    fn caller(self, caller: &Caller, is_program: bool) -> Result<Caller, Problem> {
        if let Some(user_id) = &self.user_id {
            check_acts_for(caller, user_id, "a user can create tickets only for themselves")
                .map_err(|problem| problem.at("/user_id", "must be that of the caller"))?;
        }
        match (self.user_id, caller) {
            (Some(user_id), Caller::Service) => {
                Ok(Caller::User { user_id, team_id: self.team_id, may_run: false })
            }
            (None, Caller::Service) if is_program => {
                Err(Problem::invalid_body("/user_id", "is missing: a ticket is for one user"))
            }
            _ => Ok(caller.clone()),
        }
    }
}

/// A ticket to a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ticket)]
pub(crate) struct TicketResponse {
    /// The value of the query parameter `ticket`; valid for one connection.
    #[schema(example = "8mJ1v0kPp4m2lq3Yw1f3cQ7cEo6a2mXn5tq0sJkV9bE")]
    ticket: String,
    /// The connection must be opened before this time.
    expires_at: Time,
}

/// Creates a ticket: a client that cannot set headers opens `events` or a WebSocket with it, as the caller.
///
/// A ticket is valid for 30 seconds, for this chat, once. A stream that was opened with it ends when the
/// caller's token expires. A ticket with the permissions `["read"]` opens a stream that only reads: its user does not join
/// the chat and is not shown as present, and what the client sends to the chat is refused.
#[operation(answers = "The ticket")]
pub(crate) async fn create_ticket(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Bearer { is_service: is_program, expires_at: caller_expires_at, credential }: Bearer,
    Query(()): Query<()>,
    OptionalJson(request): OptionalJson<NewTicketRequest>,
) -> Result<(StatusCode, Json<TicketResponse>), Problem> {
    let grant = request.grant()?;
    let scope = Scope { caller: request.caller(&scope.caller, is_program)?, ..scope };
    let ticket = random_text()?;
    let digest = TicketDigest::of(&ticket);
    let valid_for = TICKET_VALID_FOR;
    let new = NewTicket { digest, valid_for, grant, caller_expires_at, credential };
    let expires_at = store.create_ticket(&scope, &chat_id, new).await?.into();
    Ok((StatusCode::CREATED, Json(TicketResponse { ticket, expires_at })))
}

fn random_text() -> Result<String, Problem> {
    let mut bytes = [0; TICKET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::new(ProblemKind::INTERNAL, "failed to generate a random ticket").caused_by(error)
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
