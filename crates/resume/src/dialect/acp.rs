use records::Message;
use serde_json::Value;

use super::pipeline::{self, NameRule, OlderCalls, Rules};
use super::{Dialect, Loss, Parsed, Rendered, Survey, Violation};
use crate::Options;

mod parse;
pub(crate) use parse::{media, output};

mod validate;
mod write;

/// The updates by which an agent replays a session in the Agent Client Protocol: what stands in
/// `update` of each `session/update`.
///
/// - A message is a chunk for each of its parts, all with its event id as `messageId`; a call is a
///   `tool_call`, its result a `tool_call_update` that is `completed` or `failed`.
/// - The speaker is the `name` in `_meta`, where a call also names its message.
/// - There are no instructions: they are dropped. Reasoning is `agent_thought_chunk`, without the
///   signature of the provider.
#[derive(Debug, Clone, Copy)]
pub struct Acp;

static RULES: Rules = Rules {
    speakers: NameRule::ANY,
    functions: NameRule::ANY,
    call_ids: |_| true,
    older_calls: OlderCalls::Converted,
};

impl Dialect for Acp {
    fn name(&self) -> &'static str {
        "acp"
    }

    fn render(&self, messages: Vec<Message>, options: &Options) -> Rendered {
        pipeline::render(&RULES, write::Updates, messages, options)
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn survey(&self, options: &Options) -> Box<dyn Survey> {
        pipeline::survey(&RULES, write::Updates, options)
    }

    fn validate(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(messages)
    }

    fn losses(&self) -> &'static [Loss] {
        &[
            Loss::Instructions,
            Loss::ReasoningSignatures,
            Loss::RefusalMarks,
            Loss::CustomCalls,
            Loss::CallSignatures,
            Loss::MediaKinds,
        ]
    }
}
