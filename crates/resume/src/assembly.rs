//! Assembles messages from the chunks of a stream.
//!
//! An [`Assembly`] takes the chunks of a stream, each with its position in the stream. At any time it
//! returns the messages received so far, in the dialect `ui-message`. It supports two streams: the
//! [chunks](Stream::UiMessage) of the AI SDK, and the [updates](Stream::Acp) of the Agent Client
//! Protocol.
//!
//! - Chunks may be repeated and may arrive out of order. Each is applied once, in the order of the
//!   stream. So a reader that reconnects may receive chunks again.
//! - A text after a tool part is a separate part.
//! - The state of a tool part only advances: from streaming input to complete input, then to an output
//!   or an error. A chunk for an earlier state, or for a text that has ended, changes nothing.
//!
//! A stream may go on with an earlier message, for example when a person has approved a call of it. It
//! then [continues](Assembly::continuing) this message, whose calls it may end.

use serde_json::Value;

mod acp;
mod message;
mod outcome;
mod reorder;
mod replayed;
mod tool;
mod ui_message;

use message::PartialMessage;
pub use outcome::{AssemblyError, ChunkOutcome};
use reorder::ReorderBuffer;
pub use replayed::chunks_of;

/// The protocol of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The UI message stream of the AI SDK: one message of the assistant.
    UiMessage,
    /// The session updates of the Agent Client Protocol: messages of the user and of the agent.
    Acp,
}

/// Returns the id that the chunks of a UI message stream give their message.
pub fn message_id<'a>(chunks: impl IntoIterator<Item = &'a Value>) -> Option<&'a str> {
    chunks.into_iter().find(|chunk| chunk["type"] == "start")?["messageId"].as_str()
}

/// The messages of a stream, assembled from the chunks received so far.
#[derive(Debug)]
pub struct Assembly {
    stream: Stream,
    id: String,
    buffer: ReorderBuffer,
    messages: Vec<PartialMessage>,
    calls: acp::Calls,
}

impl Assembly {
    /// Begins before the first chunk, which has position 0.
    ///
    /// The id of a message that has none is `id`, the id of the stream, followed by its number.
    pub fn new(stream: Stream, id: &str) -> Self {
        Self {
            stream,
            id: id.to_owned(),
            buffer: ReorderBuffer::default(),
            messages: Vec::new(),
            calls: acp::Calls::new(),
        }
    }

    /// Begins a stream of UI message chunks that goes on with a UI message of an earlier one.
    ///
    /// [`Assembly::messages`] then has only what the stream adds, and [`Assembly::ended_calls`] the calls of the earlier
    /// message that it ended.
    pub fn continuing(id: &str, message: &Value) -> Self {
        let messages = vec![PartialMessage::continuing(message)];
        Self { messages, ..Self::new(Stream::UiMessage, id) }
    }

    /// Takes the chunk at a position of the stream.
    ///
    /// An invalid chunk is skipped; the chunks after it are applied all the same.
    pub fn push(&mut self, position: u64, chunk: Value) -> Result<ChunkOutcome, AssemblyError> {
        let mut outcome = Ok(self.buffer.insert(position, chunk)?);
        while let Some((position, chunk)) = self.buffer.next() {
            let added = match self.stream {
                Stream::UiMessage => ui_message::apply(&mut self.messages, chunk),
                Stream::Acp => acp::apply(&mut self.messages, &mut self.calls, chunk),
            };
            if let Err(detail) = added {
                outcome = outcome.and(Err(AssemblyError::InvalidChunk { position, detail }));
            }
        }
        outcome
    }

    /// Returns the messages received so far, as UI messages.
    pub fn messages(&self) -> Vec<Value> {
        let numbered = self.messages.iter().enumerate().filter(|(_, message)| message.adds());
        numbered.map(|(number, message)| message.write(&self.id, number)).collect()
    }

    /// Returns whether the stream goes on with an earlier message.
    pub fn continues(&self) -> bool {
        self.messages.iter().any(PartialMessage::continues)
    }

    /// Returns the tool parts of the continued message that had no output before.
    pub fn ended_calls(&self) -> Vec<Value> {
        self.messages.iter().flat_map(PartialMessage::ended_calls).collect()
    }

    /// Returns the position of the next chunk to apply.
    pub fn position(&self) -> u64 {
        self.buffer.position()
    }
}
