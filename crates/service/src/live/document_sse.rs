//! Changes of documents as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use async_stream::stream;
use axum::response::Response;
use axum::response::sse::Event as SseEvent;
use futures::stream::Stream;

use super::document_log::DocumentPosition;
use super::document_subscription::{DocumentEvent, DocumentSubscription};
use super::encoded::fields_of;
use super::shutdown::reconnect_delay;
use super::sse::event_response;
use super::stream_limits::{StreamEnd, StreamLimits};
use crate::metrics::SubscriberMetrics;

/// Responds with the events of a subscription until one of its limits is reached.
pub(crate) fn document_event_stream(
    subscription: DocumentSubscription,
    limits: StreamLimits,
    keep_alive: Duration,
    metrics: SubscriberMetrics,
) -> Response {
    event_response(events(subscription, limits, metrics), keep_alive)
}

fn events(
    mut subscription: DocumentSubscription,
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
                    }
                    break;
                }
                next = subscription.next() => {
                    let Some((event, at)) = next else { break };
                    metrics.event_sent();
                    yield Ok(to_sse(event, at));
                }
            }
        }
    }
}

fn to_sse(event: DocumentEvent, at: DocumentPosition) -> SseEvent {
    let (name, data) = event.into_response();
    SseEvent::default().event(name).id(at.to_string()).data(format!("{{{}}}", fields_of(&data)))
}
