use std::sync::Arc;

use async_trait::async_trait;
use records::{ChatId, NewStream, NewTurn, Scope, Stream, StreamEnding, StreamGroup, StreamId};

use super::{AppendedTurn, Written};
use crate::StoreError;

/// Stores the streams of chats: what agents are producing at the moment.
///
/// Each write of a stream is a group, and the numbers of the groups have no gap. So two writers never write the same
/// group: the later one reads what the earlier one wrote, and decides again. A stream that was taken over, was
/// cancelled or has ended is noticed in this way, without a read.
///
/// A change that ends or deletes a chat cancels its running streams, atomically. Their chunks become no turn.
#[async_trait]
pub trait Streams: Send + Sync {
    /// Starts a stream in a chat that has not ended. The streams that an earlier holder of the lease has left running
    /// end as superseded.
    ///
    /// Safe to repeat with an id.
    async fn start_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream: NewStream,
    ) -> Result<Written<Stream>, StoreError>;

    /// Adds chunks to a stream, the first at the position `from`. Returns where the stream stands.
    ///
    /// Safe to repeat: chunks at positions that the stream has are skipped, without a comparison. A position past the
    /// end is refused. Without chunks it says that the agent is there.
    async fn append_chunks(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
        from: u64,
        chunks: Vec<String>,
    ) -> Result<StreamProgress, StoreError>;

    /// Lets the holder of a newer lease write a running stream, after its chunks or from the beginning.
    ///
    /// Safe to repeat: for a stream that the caller writes already it changes nothing, except that a restart voids its chunks,
    /// unless it names the attempt that it voids.
    async fn take_over_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
        takeover: Takeover,
    ) -> Result<Stream, StoreError>;

    /// Asks the agent of a running stream to stop. The answer to its next chunks says so.
    async fn cancel_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
    ) -> Result<Stream, StoreError>;

    /// Ends a running stream as cancelled, for a caller that does not write it, because what it answers is over.
    ///
    /// Its chunks become no turn. The answer to the next chunks of its agent says that it is to stop, and they are not stored.
    async fn stop_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
    ) -> Result<Stream, StoreError>;

    /// Ends a stream, and writes a turn in the same transaction if there is one.
    ///
    /// Safe to repeat with the same turn, and without one with the same ending.
    async fn end_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
        ending: StreamEnding,
        turn: Option<NewTurn>,
    ) -> Result<EndedStream, StoreError>;

    /// Lists the streams of a chat that are kept, the latest first.
    async fn list_streams(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<Stream>, StoreError>;

    /// Returns a stream.
    async fn get_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
    ) -> Result<Stream, StoreError>;

    /// Returns the groups of a stream after a number, oldest first: as many as fit a page of about 1 MiB, and at least
    /// one if there is one.
    async fn stream_groups(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
        after: Option<u64>,
    ) -> Result<Vec<StreamGroup>, StoreError>;

    /// Removes up to `limit` streams of all apps whose time is over: they ended an hour ago, or nothing was written to
    /// them for an hour after a day. Returns how many it removed.
    async fn remove_ended_streams(&self, limit: usize) -> Result<usize, StoreError>;
}

/// How a stream is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// Its chunks stay, and the next one follows them.
    Continue,
    /// Its chunks are void, and the next one has the position 0.
    Restart {
        /// The attempt whose chunks are void. Once the next attempt has begun, the same restart changes nothing.
        attempt: Option<u32>,
    },
}

/// Where a stream stands, for its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamProgress {
    /// The position of the next chunk.
    pub next: u64,
    /// Whether the agent was asked to stop.
    pub is_cancel_requested: bool,
}

/// A stream that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedStream {
    /// The stream.
    pub stream: Stream,
    /// The turn that was written with its end.
    pub turn: Option<AppendedTurn>,
}

/// A group that a stream was given, for listeners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamChange {
    /// The chat.
    pub chat_id: ChatId,
    /// The stream.
    pub stream_id: StreamId,
    /// What was written.
    pub group: Arc<StreamGroup>,
}
