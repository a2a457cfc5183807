use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use super::request_memory::RequestMemory;

/// The size of the pieces in which a body is handed to the connection.
const PIECE_BYTES: usize = 64 << 10;

/// The body of a response, which holds the memory of its request until it is written.
///
/// A connection takes as many pieces as it has room for, so this body ends when nearly all of it is
/// written. Given as a whole, it would end at once.
#[derive(Debug)]
pub(crate) struct HeldBody {
    body: Body,
    /// The rest of the last frame.
    rest: Bytes,
    _memory: RequestMemory,
}

impl HeldBody {
    pub(crate) fn new(body: Body, memory: RequestMemory) -> Self {
        Self { body, rest: Bytes::new(), _memory: memory }
    }
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)).transpose()?.map(Frame::into_data)
            {
                Some(Ok(data)) => self.rest = data,
                Some(Err(trailers)) => return Poll::Ready(Some(Ok(trailers))),
                None => return Poll::Ready(None),
            }
        }
        let length = self.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, rest) = (self.body.size_hint(), self.rest.len() as u64);
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}
