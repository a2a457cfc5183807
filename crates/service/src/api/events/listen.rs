use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use utoipa::IntoParams;

use crate::config::LimitsConfig;
use crate::extract::{ChatStream, FromParams, LastEventId, Params, Query, TICKET_PARAM};
use crate::live::{CaughtUpResponse, Hub, Position, StatusResponse, VersionResponse, event_stream};
use crate::metrics::{Metrics, Transport};
use crate::openapi::ChatPath;
use crate::problem::{EventsProblems, Problem};
use crate::wire::{InputRequestResponse, MessageResponse, PresenceResponse, UsageFields};

/// Where to begin.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListenQuery {
    /// The last sequence that the reader holds, or the id of the last event; -1, and nothing, stand for
    /// the beginning. The header `Last-Event-ID` says the same, and goes before.
    #[param(value_type = Option<String>, example = "41")]
    after: Option<Position>,
    /// A ticket, instead of a token, from a client that cannot show one.
    #[param(value_type = Option<String>)]
    #[expect(dead_code, reason = "is read where the caller is recognised")]
    ticket: Option<String>,
}

impl FromParams for ListenQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { after: params.take("after")?, ticket: params.take(TICKET_PARAM)? })
    }
}

/// Streams the events of a chat: first everything after what the reader holds, then whatever comes.
///
/// Every message comes exactly once and in order, with its sequence in the `id`, whatever happens
/// between two connections. `caught-up` says that there is no more for now; `message-updated` and
/// `message-deleted` bring messages the reader knows as they are now; `status`, `context` and
/// `artifact` say that something has changed since then; `input-request` brings a question the workflow
/// waits on, right after `caught-up` or when it is asked, and `input-response` what became of it;
/// `presence` says who is there, `usage` what was used. A person who listens is present.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/events", tag = "events",
    operation_id = "listen", params(
        ChatPath, ListenQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event received", example = "41"),
    ),
    responses(
        (
            status = 200, content_type = "text/event-stream", body = ListenEvent,
            description = "Server-sent events, each with one of these as JSON in its `data`",
        ),
        EventsProblems,
    ),
)]
pub(crate) async fn listen(
    State(hub): State<Arc<Hub>>,
    State(limits): State<Arc<LimitsConfig>>,
    State(metrics): State<Arc<Metrics>>,
    ChatStream { scope, chat_id, limits: stream_limits }: ChatStream,
    Query(query): Query<ListenQuery>,
    LastEventId(last_event_id): LastEventId,
) -> Result<Response, Problem> {
    let position = last_event_id.or(query.after).unwrap_or(Position::BEGINNING);
    let subscription = hub.subscribe(&scope, &chat_id, position).await?;
    let presence = hub.announce(&scope, &chat_id);
    let metrics = metrics.live.subscriber(Transport::Sse);
    Ok(event_stream(subscription, presence, stream_limits, limits.keep_alive(), metrics))
}

/// The `data` of an event, by its name.
#[derive(utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what the events hold")]
pub(crate) enum ListenEvent {
    /// With `message`, `message-updated` and `message-deleted`.
    Message(Box<MessageResponse>),
    CaughtUp(CaughtUpResponse),
    /// With `input-request` and `input-response`.
    InputRequest(Box<InputRequestResponse>),
    Status(StatusResponse),
    Version(VersionResponse),
    /// Everybody who is present, right after `caught-up` and whenever that changes.
    Presence(PresenceResponse),
    /// What all calls of the chat took, after `caught-up` if there are any and whenever that changes.
    Usage(UsageFields),
}
