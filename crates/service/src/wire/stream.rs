use records::{Clock as _, Stream, StreamMark, SystemClock};
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;
use crate::openapi::values;

/// An answer that an agent is producing, or has produced within the hour.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Stream)]
pub(crate) struct StreamResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = "stream_0198d4b2")]
    stream_id: String,
    #[schema(value_type = values::StreamFormatName)]
    format: &'static str,
    /// The agent that produces it.
    #[schema(example = "writer")]
    agent: Option<String>,
    /// The turn that it becomes part of.
    #[schema(example = "req_abc")]
    request_id: Option<String>,
    #[schema(value_type = values::StreamState)]
    state: &'static str,
    /// How often an agent began to produce the answer. When it grows, the chunks so far are void.
    #[schema(example = 1)]
    attempt: u32,
    /// The position of the next chunk: the number of chunks of this attempt.
    #[schema(example = 12)]
    next: u64,
    /// The number of the last write of the stream, from 0.
    #[schema(example = 3)]
    group: u64,
    /// The size of all chunks, in bytes; at most 16 MiB.
    #[schema(example = 640)]
    bytes: u64,
    /// Whether its agent was asked to stop.
    cancel_requested: bool,
    /// Whether it is running, and its agent has written nothing for 30 s: the agent is lost, and the next holder of the lease may
    /// take the stream over.
    stalled: bool,
    /// Why it failed, or how the end of its chat cancelled it.
    error: Option<String>,
    /// The counter of the chat after the turn that it became, if it became one.
    #[schema(example = 2)]
    last_sequence: Option<u64>,
    started_at: Time,
    /// When its agent last wrote it, or when it ended.
    written_at: Time,
}

impl From<Stream> for StreamResponse {
    fn from(stream: Stream) -> Self {
        let stalled = stream.is_stalled(SystemClock.now());
        let StreamMark { number, next, bytes, attempt, is_cancel_requested, state, .. } =
            stream.mark;
        Self {
            chat_id: stream.chat_id.into(),
            stream_id: stream.stream_id.into(),
            format: stream.header.format.as_str(),
            agent: stream.header.agent,
            request_id: stream.header.request_id.map(Into::into),
            state: state.as_str(),
            attempt,
            next,
            group: number,
            bytes,
            cancel_requested: is_cancel_requested,
            stalled,
            error: stream.mark.error,
            last_sequence: stream.mark.last_sequence,
            started_at: stream.started_at.into(),
            written_at: stream.mark.written_at.into(),
        }
    }
}

/// With `stream-chunk`: chunks of a stream.
#[derive(Debug, ToSchema)]
#[schema(as = StreamChunk)]
#[expect(dead_code, reason = "describes what the live events write")]
pub(crate) struct StreamChunkResponse {
    #[schema(example = "stream_0198d4b2")]
    stream_id: String,
    /// See the stream.
    #[schema(example = 1)]
    attempt: u32,
    /// The position of the first of the chunks.
    #[schema(example = 12)]
    from: u64,
    /// The position after the last of the chunks.
    #[schema(example = 14)]
    next: u64,
    /// There may be fewer than positions: deltas of one text that were written before the client came are joined.
    #[schema(value_type = Vec<values::Content>)]
    chunks: Vec<serde_json::Value>,
}
