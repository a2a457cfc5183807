//! Messages that come in pieces, put together.
//!
//! An [`Assembly`] takes the chunks of a stream, each with its position in the stream, and holds the
//! messages as far as they are known, in the form of a `ui-message`. Two streams are understood: the
//! [chunks](Stream::UiMessage) of the AI SDK, and the [updates](Stream::Acp) of the Agent Client
//! Protocol.
//!
//! - A chunk may come more than once, and before its turn: each counts once, in the order of the
//!   stream. So a reader that connects again may be told what it knows already.
//! - A text that follows on a tool part is a part of its own.
//! - The state of a tool part only goes on: input that is streaming, input that is whole, output or
//!   error. What comes too late for a state, or for a text that has ended, changes nothing.

use serde_json::Value;

mod acp;
mod message;
mod order;
mod outcome;
mod tool;
mod ui_message;

use message::Message;
use order::Order;
pub use outcome::{AssemblyError, Taken};

/// Which stream the chunks are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The UI message stream of the AI SDK: one message, of the assistant.
    UiMessage,
    /// The session updates of the Agent Client Protocol: messages of both sides.
    Acp,
}

/// The messages of a stream, as far as they are known.
#[derive(Debug)]
pub struct Assembly {
    stream: Stream,
    id: String,
    order: Order,
    messages: Vec<Message>,
    calls: acp::Calls,
}

impl Assembly {
    /// Begins before the first chunk, which has position 0.
    ///
    /// Messages without ids of their own are named after the stream: `id`, and their number.
    pub fn new(stream: Stream, id: &str) -> Self {
        Self {
            stream,
            id: id.to_owned(),
            order: Order::default(),
            messages: Vec::new(),
            calls: acp::Calls::new(),
        }
    }

    /// Takes the chunk at a position of the stream.
    ///
    /// A chunk that is refused when its turn comes is passed over; those behind it are not lost.
    pub fn push(&mut self, position: u64, chunk: Value) -> Result<Taken, AssemblyError> {
        let mut outcome = Ok(self.order.admit(position, chunk)?);
        while let Some((position, chunk)) = self.order.next() {
            let added = match self.stream {
                Stream::UiMessage => ui_message::add(&mut self.messages, chunk),
                Stream::Acp => acp::add(&mut self.messages, &mut self.calls, chunk),
            };
            if let Err(detail) = added {
                outcome = outcome.and(Err(AssemblyError::Unknown { position, detail }));
            }
        }
        outcome
    }

    /// Returns the messages as far as they are known, as UI messages.
    pub fn messages(&self) -> Vec<Value> {
        let numbered = self.messages.iter().enumerate();
        numbered.map(|(number, message)| message.write(&self.id, number)).collect()
    }

    /// Returns the position of the chunk that is waited for.
    pub fn position(&self) -> u64 {
        self.order.position()
    }
}
