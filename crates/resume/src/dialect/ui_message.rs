use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect, targets};
use super::violation::Violation;
use crate::Options;

mod parse;
mod validate;
mod write;
pub(crate) use write::write_file;

/// The `UIMessage` of the AI SDK.
///
/// - [`Rendered::system`](super::Rendered::system) holds the texts of the system instructions, apart
///   from the messages. An instruction after the first message is reported, because its position is
///   lost.
/// - The id of a message is its event id, and the `name` in its `metadata` is the speaker.
/// - A call and its result are one part of the type `dynamic-tool`, in the message that makes the call.
///   Its state is `output-available`, or `output-error` if the call failed.
/// - Reasoning is a part before the text, with the signature in its `providerMetadata`. Signed reasoning
///   keeps its position between texts.
/// - The signature that Gemini gives a call is in the `callProviderMetadata` of its part.
/// - Images, sounds and files are `file` parts; media that only a provider has, or that
///   have a relative URL, become their JSON text.
///
/// The parser turns the parts after a call into a separate message. It reads the provider metadata of
/// reasoning only from Anthropic; the provider metadata of other parts is stored unchanged.
#[derive(Debug, Clone, Copy)]
pub struct UiMessage;

impl ToolDialect for UiMessage {
    const RULES: &'static DialectRules = &targets::UI_MESSAGE;

    const LOSSES: &'static [Loss] =
        &[Loss::InstructionPlaces, Loss::Developer, Loss::RefusalMarks, Loss::CustomCalls];

    fn name(&self) -> &'static str {
        "ui-message"
    }

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::MessagesWriter::default())
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn provider_violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::provider_violations(messages)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
