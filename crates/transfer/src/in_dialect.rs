//! Messages in a dialect, read whole.

use records::Invalid;
use resume::Dropped;
use resume::dialect::{Dialect, Parsed, Resent, TranscriptPosition, Violation};
use resume::ingest::{self, Check, Checked};
use serde_json::Value;

use crate::ReadMessage;

/// The most broken rules that an error names.
const NAMED: usize = 5;

/// Messages that were read.
#[derive(Debug)]
pub(crate) struct InDialect {
    /// The messages in their order.
    pub(crate) messages: Vec<ReadMessage>,
    /// The rules of the dialect that the messages break although they are stored.
    pub(crate) noted: Vec<Violation>,
    /// The messages that cannot be stored.
    pub(crate) dropped: Vec<Dropped>,
}

/// The reason why messages are not imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessagesError {
    /// The messages break rules of the dialect.
    #[error("breaks rules of its dialect: {0}")]
    Refused(String),
    /// The dialect has its instructions in the messages.
    #[error("`system` must be omitted: this dialect has its instructions in the messages")]
    System,
    /// A message does not follow the rules of messages.
    #[error("message {0} cannot be stored: {1}")]
    Message(usize, Invalid),
}

/// Reads messages. A message keeps the id that it has in the dialect, or gets one that follows from `seed`, from it and from
/// all messages before it.
pub(crate) fn read(
    dialect: &dyn Dialect,
    system: Vec<Value>,
    mut messages: Vec<Value>,
    seed: &str,
) -> Result<InDialect, MessagesError> {
    dialect.prepare(&mut messages);
    let Checked { refused, noted } = ingest::check(dialect, &messages, Check::Lenient);
    if !refused.is_empty() {
        return Err(MessagesError::Refused(named(&refused)));
    }
    let has_system = !system.is_empty();
    let mut parsed = dialect.parse(system, messages);
    let is_system =
        |position: &TranscriptPosition| matches!(position, TranscriptPosition::System(_));
    if has_system && !parsed.positions.iter().any(is_system) {
        return Err(MessagesError::System);
    }
    if dialect.resent() == Resent::Replaces {
        ingest::assign_step_ids(&mut parsed);
    }
    let derived = ingest::derive_event_ids(seed, &parsed.messages);
    let Parsed { messages, positions, dropped } = parsed;
    let measured = messages.into_iter().zip(positions).zip(derived);
    let measured = measured.map(|((message, position), derived)| match message.body.check() {
        Ok(bytes) => Ok(ReadMessage::new(message, bytes, derived)),
        Err(fault) => {
            let (TranscriptPosition::System(index) | TranscriptPosition::Message(index)) = position;
            Err(MessagesError::Message(index, fault))
        }
    });
    Ok(InDialect { messages: measured.collect::<Result<_, _>>()?, noted, dropped })
}

fn named(violations: &[Violation]) -> String {
    let name = |it: &Violation| format!("message {}: {}: {}", it.index, it.rule, it.detail);
    let mut named: Vec<String> = violations.iter().take(NAMED).map(name).collect();
    if violations.len() > NAMED {
        named.push("and more".to_owned());
    }
    named.join("; ")
}
