use std::pin::pin;

use async_stream::try_stream;
use axum::body::{Body, Bytes};
use futures::FutureExt as _;
use futures::stream::{self, Stream, StreamExt as _, TryStreamExt as _};

use super::HistoryError;
use crate::live::{DownloadLimits, StreamEnd};
use crate::problem::{Problem, log_aborted_response};
use crate::request_id::RequestId;

/// Returns a transcript as the body of a response, which is aborted when a limit is reached.
///
/// The first chunk is read before the response starts: until then a failure can still be a problem document
/// with its own status.
pub(crate) async fn download(
    chunks: impl Stream<Item = Result<Bytes, HistoryError>> + Send + 'static,
    limits: DownloadLimits,
    request_id: RequestId,
) -> Result<Body, Problem> {
    let mut chunks = Box::pin(chunks);
    let first = chunks.try_next().await?.unwrap_or_default();
    let second = chunks.next().now_or_never();
    if let Some(None) = second {
        // A short transcript has a length.
        return Ok(first.into());
    }
    let rest = stream::iter(second.flatten()).chain(chunks);
    let rest = limited(rest, limits).inspect_err(move |error| error.log(&request_id));
    Ok(Body::from_stream(stream::iter([Ok(first)]).chain(rest)))
}

/// Why a transcript ends before it is complete.
#[derive(Debug, thiserror::Error)]
enum Aborted {
    #[error(transparent)]
    Failed(#[from] HistoryError),
    #[error("the client may no longer read the chat: {0:?}")]
    Withdrawn(StreamEnd),
}

impl Aborted {
    fn log(&self, request_id: &RequestId) {
        match self {
            Self::Failed(error) => log_aborted_response(error, request_id),
            // This is no failure of the service.
            Self::Withdrawn(_) => {
                let http_request_id = request_id.as_str();
                tracing::info!(http_request_id, reason = %self, "response aborted");
            }
        }
    }
}

/// Passes chunks on until a limit is reached, which is checked before each of them. The response is then aborted, so
/// that the client does not take it for complete.
fn limited(
    mut chunks: impl Stream<Item = Result<Bytes, HistoryError>> + Send + Unpin,
    limits: DownloadLimits,
) -> impl Stream<Item = Result<Bytes, Aborted>> + Send {
    try_stream! {
        let mut limit_reached = pin!(limits.reached());
        loop {
            let next = tokio::select! {
                biased;
                end = &mut limit_reached => Err(Aborted::Withdrawn(end)),
                next = chunks.try_next() => next.map_err(Aborted::Failed),
            };
            let Some(chunk) = next? else { break };
            yield chunk;
        }
    }
}
