use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use hyper::body::{Frame, SizeHint};

/// Tells whether a request waits for its client to send more of the body.
///
/// Handlers run, and write, only after their extractors have read the whole body: while a request waits for
/// its body, nothing has been written.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrival(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_awaited: AtomicBool,
    has_ended: AtomicBool,
}

impl Arrival {
    /// Watches the body of a request.
    pub(super) fn watch(request: Request) -> (Self, Request) {
        let arrival = Self::default();
        arrival.0.has_ended.store(request.body().is_end_stream(), Ordering::Relaxed);
        let watched = |body| Body::new(Watched { body, arrival: arrival.clone() });
        let request = request.map(watched);
        (arrival, request)
    }

    pub(super) fn is_awaited(&self) -> bool {
        self.0.is_awaited.load(Ordering::Relaxed)
    }

    /// Returns whether the body was read to its end.
    pub(super) fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::Relaxed)
    }
}

struct Watched {
    body: Body,
    arrival: Arrival,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let state = &self.arrival.0;
        state.is_awaited.store(polled.is_pending(), Ordering::Relaxed);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            state.has_ended.store(true, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
