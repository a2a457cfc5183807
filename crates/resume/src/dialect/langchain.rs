use records::Message;
use serde_json::Value;

use super::pipeline::{self, NameRule, OlderCalls, Rules};
use super::{Dialect, Loss, Parsed, Rendered, Survey, Violation};
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
/// Messages with `role` and `content`, which `LangChain` takes as well, are read, too.
#[derive(Debug, Clone, Copy)]
pub struct LangChain;

static RULES: Rules = Rules {
    speakers: NameRule::ANY,
    functions: NameRule::ANY,
    call_ids: |_| true,
    older_calls: OlderCalls::Converted,
};

/// Marks an instruction of the developer, as `LangChain` does.
const ROLE_MARK: &str = "__openai_role__";

impl Dialect for LangChain {
    fn name(&self) -> &'static str {
        "langchain"
    }

    fn render(&self, messages: Vec<Message>, options: &Options) -> Rendered {
        pipeline::render(&RULES, write::Messages, messages, options)
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn survey(&self, options: &Options) -> Box<dyn Survey> {
        pipeline::survey(&RULES, write::Messages, options)
    }

    fn validate(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(messages)
    }

    fn losses(&self) -> &'static [Loss] {
        &[Loss::BlankText, Loss::CustomCalls, Loss::CallSignatures]
    }
}
