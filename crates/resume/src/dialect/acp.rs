use records::MessageBody;
use serde_json::Value;

use super::contract::Resent;
use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;

mod call;
pub(crate) use call::CallState;

mod content;
mod own;
pub(crate) use content::read_media;

mod parse;

mod rules;

mod validate;
pub(crate) use validate::NON_MESSAGE_UPDATES;

mod write;

/// The updates with which an agent replays a session in the Agent Client Protocol: the field `update`
/// of each `session/update`.
///
/// - A message is one chunk for each of its parts, all with its event id as `messageId`. A call is a
///   `tool_call`; its result is a `tool_call_update` with the status `completed` or `failed`.
/// - The `name` in `_meta` is the speaker; the `_meta` of a call also holds the id of its message.
/// - The protocol has no system instructions: they are dropped. Reasoning is an
///   `agent_thought_chunk` before the content, without the signature of the provider.
///
/// What came in this format comes back with its kinds, locations, diffs, shown texts, annotations and `_meta`, and without an id
/// if it had none and still stands apart from the message before it. The updates of a call become two: the one that begins it,
/// and one that ends it with the latest value of each field; those in between are dropped. A `plan` is kept as a message that
/// says nothing, and comes back in this format alone. Updates of the session, such as `usage_update`, are dropped.
#[derive(Debug, Clone, Copy)]
pub struct Acp;

/// The name of the dialect, and of the field of `provider` that holds what only this format has.
const NAME: &str = "acp";

impl ToolDialect for Acp {
    const RULES: &'static DialectRules = &rules::ACP;

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

    const RESENT: Resent = Resent::Continues;

    fn name(&self) -> &'static str {
        NAME
    }

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::UpdatesWriter::default())
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn remove_marks(&self, body: &mut MessageBody) {
        own::remove_continued(body);
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(messages)
    }
}
