use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{Form, Rules, Writer};
use super::violation::Violation;
use crate::Options;

mod parse;
mod validate;
mod write;

/// The messages of `LangChain`, as `messages_from_dict` loads them: `{"type", "data"}`.
///
/// - A content is text or a list of content parts; anything else becomes its JSON text, and null the
///   empty text.
/// - Arguments are an object; others become its field `input`.
/// - Refusals and reasoning stand in `additional_kwargs`, as does that an instruction is the
///   developer's. The result of a call that failed has the `status` `error`.
///
/// Messages with `role` (or `type`) and `content`, which `LangChain` takes as well, are read, too; their calls
/// may be those of `OpenAI`.
#[derive(Debug, Clone, Copy)]
pub struct LangChain;

impl Form for LangChain {
    const RULES: &'static Rules = &Rules::ANY;

    const LOSSES: &'static [Loss] = &[Loss::BlankText, Loss::CustomCalls, Loss::CallSignatures];

    fn name(&self) -> &'static str {
        "langchain"
    }

    fn writer(&self, _options: &Options) -> Box<dyn Writer> {
        Box::new(write::Messages)
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(messages)
    }
}
