//! Live chats as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use async_stream::stream;
use axum::http::HeaderName;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream::Stream;

use super::event::Delivery;
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
    let keep_alive = KeepAlive::new().interval(keep_alive).text("alive");
    let events = Sse::new(events(subscription, presence, limits, metrics)).keep_alive(keep_alive);
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

fn to_sse(delivery: &Delivery) -> SseEvent {
    let event = SseEvent::default().event(delivery.event.name);
    let event = match delivery.position {
        Some(position) => event.id(position.to_string()),
        None => event,
    };
    event.data(&*delivery.event.data)
}
