//! Live chats as server-sent events.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use async_stream::stream;
use axum::http::HeaderName;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream::Stream;
use serde::Serialize;

use super::encoded::fields_of;
use super::event::{Delivery, Event};
use super::presence::PresenceGuard;
use super::shutdown::reconnect_delay;
use super::stream_limits::{StreamEnd, StreamLimits};
use super::subscription::Subscription;
use crate::metrics::SubscriberMetrics;

/// Keeps proxies from buffering events.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Responds with the events of a subscription until one of its limits is reached.
///
/// The person who subscribed is present while the response lasts.
pub(crate) fn event_stream(
    subscription: Subscription,
    presence: Option<PresenceGuard>,
    limits: StreamLimits,
    keep_alive: Duration,
    metrics: SubscriberMetrics,
) -> Response {
    event_response(events(subscription, presence, limits, metrics), keep_alive)
}

/// Responds with events, and with a comment when there is none for a while.
pub(crate) fn event_response(
    events: impl Stream<Item = Result<SseEvent, Infallible>> + Send + 'static,
    keep_alive: Duration,
) -> Response {
    let keep_alive = KeepAlive::new().interval(keep_alive).text("alive");
    let events = Sse::new(events).keep_alive(keep_alive);
    ([(X_ACCEL_BUFFERING, "no")], events).into_response()
}

fn events(
    mut subscription: Subscription,
    mut presence: Option<PresenceGuard>,
    limits: StreamLimits,
    metrics: SubscriberMetrics,
) -> impl Stream<Item = Result<SseEvent, Infallible>> {
    stream! {
        let limit_reached = limits.reached();
        tokio::pin!(limit_reached);
        loop {
            tokio::select! {
                biased;
                end = &mut limit_reached => {
                    if matches!(end, StreamEnd::Shutdown) {
                        yield Ok(SseEvent::default().retry(reconnect_delay()));
                        // The process is about to stop, so the guard's own withdrawal in the background
                        // might not be written any more.
                        if let Some(presence) = presence.take() {
                            presence.withdraw().await;
                        }
                    }
                    break;
                }
                next = subscription.next() => match next {
                    Some(delivery) => {
                        metrics.event_sent();
                        yield Ok(to_sse(&delivery));
                    }
                    None => break,
                },
            }
        }
    }
}

/// The field of a message that is apart from its other fields.
#[derive(Serialize)]
struct TypeField<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
}

fn to_sse(delivery: &Delivery) -> SseEvent {
    let event = SseEvent::default().event(name(&delivery.event));
    let event = match delivery.position {
        Some(position) => event.id(position.to_string()),
        None => event,
    };
    let mut data = event.into_data_writer();
    // Writing to memory cannot fail.
    let _ = match delivery.event.message_type() {
        Some(kind) => {
            let own = fields_of(&TypeField { kind });
            write!(data, "{{{own},{}}}", delivery.event.fields())
        }
        None => write!(data, "{{{}}}", delivery.event.fields()),
    };
    data.into_event()
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::Message(_) => "message",
        Event::Edit(message) if message.is_deleted => "message-deleted",
        Event::Edit(_) => "message-updated",
        Event::CaughtUp(_) => "caught-up",
        Event::InputRequest(_) => "input-request",
        Event::InputResponse(_) => "input-response",
        Event::Status(_) => "status",
        Event::Context(_) => "context",
        Event::Artifact(_) => "artifact",
        Event::Chat(_) => "chat",
        Event::Presence(_) => "presence",
        Event::Usage(_) => "usage",
        Event::StreamStarted(_) => "stream-started",
        Event::StreamChunk(_) => "stream-chunk",
        Event::StreamStalled(_) => "stream-stalled",
        Event::StreamFinished(_) => "stream-finished",
    }
}
