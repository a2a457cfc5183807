use chrono::{DateTime, TimeDelta, Utc};

use crate::ids::{NAME_RULE, is_name};
use crate::{ChatId, Invalid, SizeLimit, StreamId, TurnId};

/// An answer that an agent is producing: chunks, each with a position, from 0.
///
/// A stream is no part of the transcript. When it ends, its agent writes what came of it as a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// The chat.
    pub chat_id: ChatId,
    /// The id of the stream, unique within its chat.
    pub stream_id: StreamId,
    /// What the agent has said of it.
    pub header: StreamHeader,
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// Where it stands.
    pub mark: StreamMark,
}

/// What an agent says of a stream when it starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamHeader {
    /// What the chunks are.
    pub format: StreamFormat,
    /// The name of the agent.
    pub agent: Option<String>,
    /// The turn that the stream becomes part of.
    pub request_id: Option<TurnId>,
}

/// A stream to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStream {
    /// The id; the store mints one if it is missing. Only a stream with an id is safe to start again.
    pub stream_id: Option<StreamId>,
    /// What the agent says of it.
    pub header: StreamHeader,
}

/// What the chunks of a stream are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamFormat {
    /// Chunks of a UI message stream of the AI SDK.
    UiMessage,
    /// Updates of a session of the Agent Client Protocol.
    Acp,
    /// Pieces of plain text, as JSON strings.
    Text,
}

/// Whether a stream goes on, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamState {
    /// Its agent may add chunks.
    Running,
    /// Its agent has finished it.
    Finished,
    /// An error occurred.
    Failed,
    /// It was cancelled: by its agent, which was asked to stop, or because its chat ended or was deleted.
    Cancelled,
    /// A later agent has started another stream in its place.
    Superseded,
}

/// Where a stream stands after one of its groups. It decides what the next group may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamMark {
    /// The number of the group, from 0. Each write of a stream is one group, and their numbers have no gap.
    pub number: u64,
    /// The position of the next chunk.
    pub next: u64,
    /// The size of all chunks, in bytes.
    pub bytes: u64,
    /// How often an agent began to produce the answer: 1, and one more with each restart.
    pub attempt: u32,
    /// The token of the lease under which the stream is written; 0 without a lease.
    pub fencing_token: u64,
    /// Whether its agent was asked to stop.
    pub is_cancel_requested: bool,
    /// Whether it goes on.
    pub state: StreamState,
    /// Why it failed, or what of its chat cancelled it.
    pub error: Option<String>,
    /// The counter of the chat after the turn that the stream became, if it became one.
    pub last_sequence: Option<u64>,
    /// When the group was written; with a request to cancel, when the group before it was.
    pub written_at: DateTime<Utc>,
}

/// A write of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamGroup {
    /// Where the stream stands after it.
    pub mark: StreamMark,
    /// What it did.
    pub event: StreamEvent,
}

/// What a group of a stream does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// The stream was started.
    Started,
    /// Chunks, each as JSON. There may be none: the agent then only says that it is there.
    Chunks(Vec<String>),
    /// Another holder of the lease goes on with the stream after the chunks that it has.
    Continued,
    /// Another holder of the lease begins the answer again: the chunks so far are void.
    Restarted,
    /// A person or program has asked the agent to stop.
    CancelRequested,
    /// The stream has ended.
    Ended,
}

/// How a stream ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEnding {
    /// How: not [`StreamState::Running`].
    pub state: StreamState,
    /// Why it failed.
    pub error: Option<String>,
    /// What it must hold, because its turn was made of that; `None` if that does not matter.
    pub made_of: Option<StreamContent>,
}

/// What a stream holds: chunks are added, and void from one attempt to the next, but never changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamContent {
    /// The attempt.
    pub attempt: u32,
    /// The position of the next chunk.
    pub next: u64,
}

impl StreamFormat {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::UiMessage, Self::Acp, Self::Text];

    /// Returns the name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UiMessage => "ui_message",
            Self::Acp => "acp",
            Self::Text => "text",
        }
    }
}

impl StreamState {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Running, Self::Finished, Self::Failed, Self::Cancelled, Self::Superseded];

    /// Returns the name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Superseded => "superseded",
        }
    }
}

impl StreamEvent {
    /// Returns the name on the wire and in the store.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Chunks(_) => "chunks",
            Self::Continued => "continued",
            Self::Restarted => "restarted",
            Self::CancelRequested => "cancel_requested",
            Self::Ended => "ended",
        }
    }
}

impl StreamMark {
    /// Returns what the stream holds.
    pub fn content(&self) -> StreamContent {
        StreamContent { attempt: self.attempt, next: self.next }
    }

    /// Returns whether the stream was ended without its agent, which is told with its next chunks.
    ///
    /// A stream that ended with its chat has an error and is not one of them: its agent is refused.
    pub fn is_stopped(&self) -> bool {
        self.state == StreamState::Cancelled
            && self.is_cancel_requested
            && self.error.is_none()
            && self.last_sequence.is_none()
    }
}

impl StreamGroup {
    /// Returns the chunks that the group adds.
    pub fn chunks(&self) -> &[String] {
        match &self.event {
            StreamEvent::Chunks(chunks) => chunks,
            _ => &[],
        }
    }

    /// Returns the position of its first chunk.
    pub fn from(&self) -> u64 {
        self.mark.next - self.chunks().len() as u64
    }
}

impl std::fmt::Display for StreamState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Stream {
    /// The largest size of all chunks of a stream, in bytes.
    pub const MAX_BYTES: u64 = 16 << 20;
    /// The most chunks in one write.
    pub const MAX_CHUNKS: usize = 1_000;
    /// The largest size of the chunks of one write, in bytes.
    pub const MAX_CHUNK_BYTES: usize = 1 << 20;
    /// How deep a message nests what a chunk holds, at most.
    pub const CHUNK_DEPTH: usize = 8;
    /// The most running streams of a chat.
    pub const MAX_RUNNING: usize = 16;
    /// The longest error, in bytes.
    pub const MAX_ERROR: usize = 4 << 10;
    /// How long an ended stream is kept, in minutes.
    pub const KEPT_MINUTES: i64 = 60;
    /// A running stream that nothing was written to for so long, in seconds, has lost its agent.
    pub const STALLED_SECONDS: i64 = 30;

    /// Checks chunks, and returns their size in bytes.
    pub fn check_chunks(chunks: &[String]) -> Result<u64, Invalid> {
        if chunks.len() > Self::MAX_CHUNKS {
            let limit = format!("must hold at most {} chunks", Self::MAX_CHUNKS);
            return Err(Invalid::too_large(SizeLimit::Batch, "/chunks", limit));
        }
        let bytes: usize = chunks.iter().map(String::len).sum();
        if bytes > Self::MAX_CHUNK_BYTES {
            let limit = format!("are {bytes} bytes; the limit is {} bytes", Self::MAX_CHUNK_BYTES);
            return Err(Invalid::too_large(SizeLimit::Batch, "/chunks", limit));
        }
        Ok(bytes as u64)
    }

    /// Returns the id of the turn that the stream becomes.
    pub fn turn_id(&self) -> TurnId {
        self.header.request_id.clone().unwrap_or_else(|| self.stream_id.clone().into())
    }

    /// Returns whether the stream is running, and its agent is silent for longer than agents are.
    pub fn is_stalled(&self, now: DateTime<Utc>) -> bool {
        let silence = now - self.mark.written_at;
        self.mark.state == StreamState::Running
            && silence >= TimeDelta::seconds(Self::STALLED_SECONDS)
    }
}

impl StreamHeader {
    /// Checks the header.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.agent.as_deref().is_some_and(|agent| !is_name(agent)) {
            return Err(Invalid::value("/agent", NAME_RULE));
        }
        Ok(())
    }
}

impl StreamEnding {
    /// Returns an ending without an error, whatever the stream holds.
    pub fn of(state: StreamState) -> Self {
        Self { state, error: None, made_of: None }
    }

    /// Checks the ending.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.state == StreamState::Running || self.state == StreamState::Superseded {
            return Err(Invalid::value("/state", "must be finished, failed or cancelled"));
        }
        let bytes = self.error.as_ref().map_or(0, String::len);
        if bytes > Stream::MAX_ERROR {
            let limit = format!("is {bytes} bytes; the limit is {} bytes", Stream::MAX_ERROR);
            return Err(Invalid::too_large(SizeLimit::Message, "/error", limit));
        }
        Ok(())
    }
}
