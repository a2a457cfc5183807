use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{Form, Rules, Writer};
use super::violation::Violation;
use crate::Options;

mod call;
pub(crate) use call::Call;

mod content;
pub(crate) use content::media;

mod parse;

mod validate;
pub(crate) use validate::UNSAID;

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

impl Form for Acp {
    const RULES: &'static Rules = &Rules::ANY;

    const LOSSES: &'static [Loss] = &[
        Loss::Instructions,
        Loss::ReasoningSignatures,
        Loss::RefusalMarks,
        Loss::CustomCalls,
        Loss::CallSignatures,
        Loss::MediaKinds,
        Loss::MediaNames,
    ];

    const SPLITS_MESSAGES: bool = true;

    fn name(&self) -> &'static str {
        "acp"
    }

    fn writer(&self, _options: &Options) -> Box<dyn Writer> {
        Box::new(write::Updates)
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(messages)
    }
}
