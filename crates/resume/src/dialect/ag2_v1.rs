use records::Message;
use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;

mod context;
mod events;
mod own;
mod parse;
mod rules;
mod validate;
mod write;

/// The events of AG2 1.x, as its storage keeps them: JSON with the class in `__event__`.
///
/// A message of the user is a `ModelRequest`, a message of an agent is a `ModelResponse`. Its calls
/// follow as one `ToolCallsEvent` and a `ToolCallEvent` each. Each result is a `ToolResultEvent` or
/// `ToolErrorEvent`; a `ToolResultsEvent` then repeats all results and closes the calls.
///
/// - [`Rendered::system`](super::Rendered::system) holds the texts of the system instructions, apart
///   from the events. An instruction after the first message is reported, because its position is lost.
/// - The speaker is the `name` in the `metadata` of the input or message. Reasoning is removed.
/// - What else an event came with is kept, and so are events that are no messages of the conversation, such as the usage of
///   tokens: they come back in this dialect alone.
/// - The message of an agent is one text; several texts are joined by a line break. Arguments are the
///   JSON text of an object; other arguments become the field `input` of one.
#[derive(Debug, Clone, Copy)]
pub struct Ag2V1;

/// The name of the dialect, under which the fields are stored that only this format has.
const NAME: &str = "ag2-v1";

impl ToolDialect for Ag2V1 {
    const RULES: &'static DialectRules = &rules::AG2_V1;

    const LOSSES: &'static [Loss] = &[
        Loss::InstructionPlaces,
        Loss::Developer,
        Loss::Reasoning,
        Loss::RefusalMarks,
        Loss::CustomCalls,
        Loss::CallSignatures,
        Loss::JoinedTexts,
        Loss::SilentSpeakers,
    ];

    const SPLITS_MESSAGES: bool = true;

    fn name(&self) -> &'static str {
        NAME
    }

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::EventsWriter::default())
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn needs_context(&self, messages: &[Value]) -> bool {
        context::is_needed(messages)
    }

    fn context_of(&self, log: &[Message]) -> Vec<Value> {
        context::of_log(log)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
