use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::config::LimitsConfig;
use crate::extract::{ChatStream, FromParams, LastEventId, Params, Query, TICKET_PARAM, declared};
use crate::live::{Hub, Position, event_stream};
use crate::metrics::{Metrics, Transport};
use crate::openapi::any_of;
use crate::operation::{Description, Output, Prepared};
use crate::problem::Problem;
use crate::wire::{
    CaughtUpResponse, InputRequestResponse, MessageResponse, PresenceResponse, StatusResponse,
    StreamChunkResponse, StreamResponse, UsageFields, VersionResponse,
};

/// The position to start from.
#[derive(Debug, IntoParams)]
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

    fn described() -> Vec<Parameter> {
        declared::<Self>()
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
/// - `stream-started`, `stream-chunk`, `stream-finished`: what an agent is producing. After each connection every running stream is
///   started again, with its chunks so far. A `stream-started` with `next` 0 voids the chunks before it; another one says that
///   another agent continues. `stream-finished` comes after the messages that the stream became. `stream-stalled`: the agent is
///   silent.
///
/// A person is present while the stream is open.
#[operation(
    answers = "Server-sent events; the `data` of each is one of these as JSON",
    problems = [TOO_MANY_SUBSCRIBERS],
)]
pub(crate) async fn listen(
    State(hub): State<Arc<Hub>>,
    State(limits): State<Arc<LimitsConfig>>,
    State(metrics): State<Arc<Metrics>>,
    Query(query): Query<ListenQuery>,
    LastEventId(last_event_id): LastEventId,
    // Last, because it may redeem a ticket.
    ChatStream { scope, chat_id, limits: stream_limits }: ChatStream,
) -> Result<Prepared<EventStream>, Problem> {
    let position = last_event_id.or(query.after).unwrap_or(Position::BEGINNING);
    let subscription = hub.subscribe(&scope, &chat_id, position).await?;
    let presence = hub.announce(&scope, &chat_id);
    let metrics = metrics.live.subscriber(Transport::Sse);
    let keep_alive = limits.keep_alive();
    Ok(Prepared::new(event_stream(subscription, presence, stream_limits, keep_alive, metrics)))
}

/// Server-sent events.
pub(crate) enum EventStream {}

impl Output for EventStream {
    fn describe(description: &mut Description) {
        description.answers_content::<ListenEvent>(StatusCode::OK, "text/event-stream");
    }
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
        StreamResponse,
        StreamChunkResponse,
    ]
);
