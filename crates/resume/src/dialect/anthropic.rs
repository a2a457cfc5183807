use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::prepare::{without_null_fields, without_null_fields_of};
use super::violation::Violation;
use crate::Options;

mod parse;
mod rules;
mod server_tools;
mod user_blocks;
pub(super) use rules::ANTHROPIC;

mod validate;
mod write;
pub(super) use write::add_result_fields;

/// The messages of Anthropic's Messages API, and the blocks of its `system`.
///
/// - [`Rendered::system`](super::Rendered::system) holds the blocks of the system instructions, apart
///   from the messages. An instruction after the first message is reported, because its position is
///   lost.
/// - Neighbouring messages of one role become one message. The results of calls become one `user`
///   message, which the next message of the user joins after the results.
/// - The dialect has no names: the text of a speaker begins with their name and a colon, unless the
///   name repeats the role.
/// - Text that is only white space is removed. A conversation that does not begin and end with the user
///   gets a `user` message "Continue." there.
/// - Reasoning that the provider signed stays unchanged, at its position in the message. It begins a turn
///   of its own: after another message of an agent, the user says "Continue." first. Reasoning after which
///   nothing follows in its message is removed.
/// - Ids of calls match `^[a-zA-Z0-9_-]+$`; any other id becomes `call_` and 32 digits of its digest.
/// - Images are JPEG, PNG, GIF or WebP, and files are PDF; a text file becomes `text/plain`. URLs are those
///   of `https`, and ids of files those of Anthropic. All other media become their JSON text, and so do media
///   in the result of a failed call.
/// - Arguments are an object; other arguments become the field `input` of one.
#[derive(Debug, Clone, Copy)]
pub struct Anthropic;

impl ToolDialect for Anthropic {
    const RULES: &'static DialectRules = &rules::ANTHROPIC;

    const LOSSES: &'static [Loss] = &[
        Loss::Names,
        Loss::Boundaries,
        Loss::InstructionPlaces,
        Loss::Developer,
        Loss::BlankText,
        Loss::UnsignedReasoning,
        Loss::RefusalMarks,
        Loss::CustomCalls,
        Loss::CallSignatures,
        Loss::Sounds,
        Loss::MediaTypes,
        Loss::MediaNames,
    ];

    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn writer(&self, options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::MessagesWriter::new(options))
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn prepare(&self, messages: &mut [Value]) {
        without_null_fields(messages);
        without_null_fields_of("content", messages);
    }

    fn provider_violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::provider_violations(messages)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
