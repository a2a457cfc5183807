//! Live chats as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use async_stream::stream;
use axum::http::HeaderName;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream::Stream;

use super::ends::{End, Ends};
use super::event::Delivery;
use super::shutdown::retry_after;
use super::{Announced, Subscription};
use crate::metrics::Listening;

/// Keeps proxies from holding events back.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Answers with the events of a subscription, until one of its ends; so long a person is present.
pub(crate) fn respond(
    subscription: Subscription,
    announced: Option<Announced>,
    ends: Ends,
    keep_alive: Duration,
    listening: Listening,
) -> Response {
    let keep_alive = KeepAlive::new().interval(keep_alive).text("alive");
    let events = Sse::new(events(subscription, announced, ends, listening)).keep_alive(keep_alive);
    ([(X_ACCEL_BUFFERING, "no")], events).into_response()
}

fn events(
    mut subscription: Subscription,
    mut announced: Option<Announced>,
    ends: Ends,
    listening: Listening,
) -> impl Stream<Item = Result<SseEvent, Infallible>> {
    stream! {
        let ended = ends.reached();
        tokio::pin!(ended);
        loop {
            tokio::select! {
                biased;
                end = &mut ended => {
                    if matches!(end, End::Shutdown) {
                        yield Ok(SseEvent::default().retry(retry_after()));
                        if let Some(announced) = announced.take() {
                            announced.withdrawn().await;
                        }
                    }
                    break;
                }
                next = subscription.next() => match next {
                    Some(delivery) => {
                        listening.told();
                        yield Ok(written(&delivery));
                    }
                    None => break,
                },
            }
        }
    }
}

fn written(delivery: &Delivery) -> SseEvent {
    let event = SseEvent::default().event(delivery.event.name);
    let event = match delivery.position {
        Some(position) => event.id(position.to_string()),
        None => event,
    };
    event.data(&*delivery.event.data)
}
