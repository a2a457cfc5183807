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

use serde_json::Value;

mod acp;
mod message;
mod outcome;
mod reorder;
mod tool;
mod ui_message;

use message::PartialMessage;
pub use outcome::{AssemblyError, ChunkOutcome};
use reorder::ReorderBuffer;

/// The protocol of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The UI message stream of the AI SDK: one message of the assistant.
    UiMessage,
    /// The session updates of the Agent Client Protocol: messages of the user and of the agent.
    Acp,
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
        let numbered = self.messages.iter().enumerate();
        numbered.map(|(number, message)| message.write(&self.id, number)).collect()
    }

    /// Returns the position of the next chunk to apply.
    pub fn position(&self) -> u64 {
        self.buffer.position()
    }
}
