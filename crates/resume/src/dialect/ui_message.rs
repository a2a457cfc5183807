use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{Form, Rules, Writer};
use super::violation::Violation;
use crate::Options;

mod parse;
mod validate;
mod write;
pub(crate) use write::file;

/// The `UIMessage` of the AI SDK.
///
/// - Instructions are taken out of the list: [`Rendered::system`](super::Rendered::system) holds
///   their texts. One that comes after something was said is reported, because its place is lost.
/// - The id of a message is its event id, and the speaker is the `name` in its `metadata`.
/// - A call and its result are one part, of the type `dynamic-tool`, in the message that makes the
///   call: `output-available`, or `output-error` when the call failed.
/// - Reasoning is a part in front, with the signature in its `providerMetadata`.
/// - Pictures, sounds and files are `file` parts; what only a provider has becomes its JSON text.
///
/// What such a message says after a call is read as a message of its own. Of what providers say of
/// reasoning, Anthropic's is read and no other's; what they say of other parts is kept in the log.
#[derive(Debug, Clone, Copy)]
pub struct UiMessage;

impl Form for UiMessage {
    const RULES: &'static Rules = &Rules::ANY;

    const LOSSES: &'static [Loss] = &[
        Loss::InstructionPlaces,
        Loss::Developer,
        Loss::RefusalMarks,
        Loss::CustomCalls,
        Loss::CallSignatures,
    ];

    fn name(&self) -> &'static str {
        "ui-message"
    }

    fn writer(&self, _options: &Options) -> Box<dyn Writer> {
        Box::new(write::Messages::default())
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
