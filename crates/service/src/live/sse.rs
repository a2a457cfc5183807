//! Live chats as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use async_stream::stream;
use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream::Stream;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::event::Delivery;
use super::{Announced, Subscription};

/// Keeps proxies from holding events back.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What ends a stream besides its reader.
#[derive(Debug)]
pub(crate) struct Ends {
    /// The process is asked to stop.
    pub(crate) shutdown: Shutdown,
    /// The reader's token is good for so long.
    pub(crate) expiry: Option<Duration>,
}

/// Whether the process is asked to stop; never, where nobody has said how one would know.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shutdown(pub(crate) CancellationToken);

impl<S: Sync> FromRequestParts<S> for Shutdown {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().cloned().unwrap_or_default())
    }
}

/// Answers with the events of a subscription, until one of its ends; so long a person is present.
pub(crate) fn respond(
    subscription: Subscription,
    announced: Option<Announced>,
    ends: Ends,
    keep_alive: Duration,
) -> Response {
    let keep_alive = KeepAlive::new().interval(keep_alive).text("alive");
    let events = Sse::new(events(subscription, announced, ends)).keep_alive(keep_alive);
    ([(X_ACCEL_BUFFERING, "no")], events).into_response()
}

fn events(
    mut subscription: Subscription,
    mut announced: Option<Announced>,
    ends: Ends,
) -> impl Stream<Item = Result<SseEvent, Infallible>> {
    stream! {
        let expired = expired(ends.expiry);
        tokio::pin!(expired);
        loop {
            tokio::select! {
                biased;
                () = ends.shutdown.0.cancelled() => {
                    yield Ok(SseEvent::default().retry(retry_after()));
                    if let Some(announced) = announced.take() {
                        announced.withdrawn().await;
                    }
                    break;
                }
                () = &mut expired => break,
                next = subscription.next() => match next {
                    Some(delivery) => yield Ok(written(&delivery)),
                    None => break,
                },
            }
        }
    }
}

async fn expired(expiry: Option<Duration>) {
    match expiry {
        Some(expiry) => sleep(expiry).await,
        None => std::future::pending().await,
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

/// When to come back after a shutdown: not all at once.
fn retry_after() -> Duration {
    Duration::from_millis(fastrand::u64(500..3_000))
}
