use records::MessageBody;
use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;

mod compaction;

mod content;
mod media;
mod own;
mod parse;
mod request;
mod response;
mod rules;
mod validate;
mod write;

/// The `ModelMessage`s of pydantic-ai, as its `ModelMessagesTypeAdapter` dumps and loads them.
///
/// - What is sent to a model between two of its answers is one request: instructions, prompts and
///   results are its parts. Each part is stored as a message. An answer is a response.
/// - There are no names: the text of a speaker begins with their name and a colon, unless the name
///   repeats the role.
/// - The name of a file is the `identifier` of the media. Data that is not valid base64, and media that
///   only a provider has, become their JSON text.
/// - A failed result has the `outcome` that it was stored with, or else `failed`. Several texts of a
///   result become one.
/// - Reasoning is a thinking part with the signature of Anthropic or the encrypted content of `OpenAI`.
///
/// The parser stores all fields that are not null or an empty list. Those that no other format has,
/// such as usage and timestamps, are kept beside the message, and so are the
/// `instructions` of a request, which an agent sets anew in each run. Parts that change settings of the
/// run, such as `instruction-delta`, are dropped.
#[derive(Debug, Clone, Copy)]
pub struct PydanticAi;

/// The name of the dialect, and of the field of `provider` that holds what only this format has.
const NAME: &str = "pydantic-ai";

impl ToolDialect for PydanticAi {
    const RULES: &'static DialectRules = &rules::PYDANTIC_AI;

    const LOSSES: &'static [Loss] =
        &[Loss::Names, Loss::JoinedTexts, Loss::Developer, Loss::RefusalMarks, Loss::CustomCalls];

    fn name(&self) -> &'static str {
        NAME
    }

    fn writer(&self, options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::MessagesWriter::new(options))
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn prepare(&self, messages: &mut [Value]) {
        messages.iter_mut().for_each(media::normalise_bytes);
    }

    fn remove_marks(&self, body: &mut MessageBody) {
        own::remove_boundary(body);
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
