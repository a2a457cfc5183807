use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;

mod content;
mod own;
mod parse;
mod reasoning;
mod rules;
mod validate;
mod write;

/// The messages of the Agent User Interaction Protocol, as `RunAgentInput` and `MESSAGES_SNAPSHOT` hold
/// them.
///
/// - The id of a message is its event id. Reasoning is a message of its own, before the answer to which
///   it led, and a result is one with an id that is made from the id of its call.
/// - An answer and an instruction are one text: several texts are joined, and media become JSON text.
/// - The name of a file is the `filename` in the metadata of its part.
/// - The `encryptedValue` of reasoning is JSON with the signature of Anthropic or the encrypted content of
///   `OpenAI`, as pydantic-ai writes it.
/// - A failed result has its text as `error`, too.
///
/// The parser stores all fields. Those that no other format has are kept beside
/// the message. Activities are no part of the conversation, and are dropped.
#[derive(Debug, Clone, Copy)]
pub struct AgUi;

/// The name of the dialect, and of the field of `provider` that holds what only this format has.
const NAME: &str = "ag-ui";

impl ToolDialect for AgUi {
    const RULES: &'static DialectRules = &rules::AG_UI;

    const LOSSES: &'static [Loss] =
        &[Loss::JoinedTexts, Loss::RefusalMarks, Loss::CustomCalls, Loss::CallSignatures];

    fn name(&self) -> &'static str {
        NAME
    }

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::MessagesWriter)
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
