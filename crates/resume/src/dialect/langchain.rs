use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect, targets};
use super::prepare::without_null_fields;
use super::violation::Violation;
use crate::Options;

mod parse;
mod validate;
mod write;

/// The messages of `LangChain`, as `messages_from_dict` loads them: `{"type", "data"}`.
///
/// - The content is a text or a list of content parts; anything else becomes its JSON text, and null
///   becomes the empty text.
/// - Arguments are an object; other arguments become the field `input` of one.
/// - `additional_kwargs` holds refusals, reasoning and the mark of developer instructions. The result of
///   a failed call has the `status` `error`.
///
/// The parser also accepts messages with `role` (or `type`) and `content`, as `LangChain` does. Their
/// calls may have the format of `OpenAI`.
#[derive(Debug, Clone, Copy)]
pub struct LangChain;

impl ToolDialect for LangChain {
    const RULES: &'static DialectRules = &targets::LANGCHAIN;

    const LOSSES: &'static [Loss] = &[Loss::BlankText, Loss::CustomCalls, Loss::CallSignatures];

    fn name(&self) -> &'static str {
        "langchain"
    }

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::MessagesWriter)
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn prepare(&self, messages: &mut [Value]) {
        without_null_fields(messages);
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(messages)
    }
}
