use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use utoipa::IntoParams;

use crate::config::LimitsConfig;
use crate::extract::{ChatStream, FromParams, LastEventId, Params, Query, TICKET_PARAM};
use crate::live::{CaughtUpResponse, Hub, Position, StatusResponse, VersionResponse, event_stream};
use crate::metrics::{Metrics, Transport};
use crate::openapi::{ChatPath, any_of};
use crate::problem::{EventsProblems, Problem};
use crate::wire::{InputRequestResponse, MessageResponse, PresenceResponse, UsageFields};

/// The position to start from.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListenQuery {
    /// The last sequence that the client has, or the id of the last event; -1, the default, for none. The
    /// header `Last-Event-ID` means the same, and has precedence.
    #[param(value_type = Option<String>, example = "41")]
    after: Option<Position>,
    /// A ticket, instead of a token, for clients that cannot set headers.
    #[param(value_type = Option<String>)]
    #[expect(dead_code, reason = "is read where the caller is identified")]
    ticket: Option<String>,
}

impl FromParams for ListenQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { after: params.take("after")?, ticket: params.take(TICKET_PARAM)? })
    }
}

/// Streams the events of a chat: first everything after the client's position, then what happens.
///
/// Every message is sent exactly once and in order, with its sequence in the `id`, also across
/// reconnections. Other events:
///
/// - `caught-up`: the client has everything there is at the moment.
/// - `message-updated`, `message-deleted`: a message that the client has was changed; the new form.
/// - `status`, `context`, `artifact`: one of these has changed since `caught-up`.
/// - `input-request`: a question that the workflow waits for, after `caught-up` or when it is asked;
///   `input-response`: the request was closed.
/// - `presence`: who is present; `usage`: what the calls of the chat have used.
///
/// A person is present while the stream is open.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/events", tag = "events",
    operation_id = "listen", params(
        ChatPath, ListenQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last received event", example = "41"),
    ),
    security(("bearer_token" = ["read"])),
    responses(
        (
            status = 200, content_type = "text/event-stream", body = ListenEvent,
            description = "Server-sent events; the `data` of each is one of these as JSON",
        ),
        EventsProblems,
    ),
)]
pub(crate) async fn listen(
    State(hub): State<Arc<Hub>>,
    State(limits): State<Arc<LimitsConfig>>,
    State(metrics): State<Arc<Metrics>>,
    Query(query): Query<ListenQuery>,
    LastEventId(last_event_id): LastEventId,
    // Last, because it may redeem a ticket.
    ChatStream { scope, chat_id, limits: stream_limits }: ChatStream,
) -> Result<Response, Problem> {
    let position = last_event_id.or(query.after).unwrap_or(Position::BEGINNING);
    let subscription = hub.subscribe(&scope, &chat_id, position).await?;
    let presence = hub.announce(&scope, &chat_id);
    let metrics = metrics.live.subscriber(Transport::Sse);
    Ok(event_stream(subscription, presence, stream_limits, limits.keep_alive(), metrics))
}

/// The `data` of an event, by its name.
pub(crate) enum ListenEvent {}

any_of!(
    ListenEvent,
    "ListenEvent",
    [
        MessageResponse,
        CaughtUpResponse,
        InputRequestResponse,
        StatusResponse,
        VersionResponse,
        PresenceResponse,
        UsageFields,
    ]
);
