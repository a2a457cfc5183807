use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;

mod blocks;
pub(super) use blocks::calls_after;
mod parse;
mod prepare;
mod reasoning;
mod rules;
mod server_tools;
mod validate;
mod write;

/// The messages of `LangChain`, as `messages_from_dict` loads them: `{"type", "data"}`.
///
/// - The content is a text or a list of content parts; anything else becomes its JSON text, and null
///   becomes the empty text.
/// - Arguments are an object; other arguments become the field `input` of one.
/// - Reasoning that Anthropic signed, with the calls, is in blocks of the content, and `response_metadata` names the provider: that is
///   where integrations take it from for Claude, and leave it out for others.
/// - `additional_kwargs` holds refusals, other reasoning, Gemini's signatures of calls and the mark of developer instructions. The result of
///   a failed call has the `status` `error`.
///
/// - The id is the event id, so that a state that loads a history twice has each message once.
///
/// The parser also accepts messages with `role` (or `type`) and `content`, as `LangChain` does, and the constructors that
/// `dumpd` writes; their calls may have the format of `OpenAI`. All other fields, such as `usage_metadata`,
/// `response_metadata` and `artifact`, are kept beside the message and come back. Blocks of the content that repeat a call,
/// and reasoning in the content, are stored where other formats have them, and come back where they were. The calls that
/// `additional_kwargs` repeats come back if the message still makes them. A chunk is stored as a message.
#[derive(Debug, Clone, Copy)]
pub struct LangChain;

/// The name of the dialect, and of the field of `provider` that holds what only this format has.
const NAME: &str = "langchain";

impl ToolDialect for LangChain {
    const RULES: &'static DialectRules = &rules::LANGCHAIN;

    const LOSSES: &'static [Loss] = &[Loss::BlankText, Loss::CustomCalls];

    fn name(&self) -> &'static str {
        NAME
    }

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::MessagesWriter)
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn prepare(&self, messages: &mut [Value]) {
        prepare::prepare(messages);
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(messages)
    }
}
