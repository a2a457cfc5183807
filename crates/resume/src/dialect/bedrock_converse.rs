use records::MessageBody;
use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;

mod documents;
mod formats;
mod kept;
mod layout;
mod media;
mod parse;
mod prepare;
mod read_result;
mod rules;
mod validate;
mod write;
mod write_blocks;

#[cfg(test)]
mod tests;

/// The messages of Amazon Bedrock's Converse API, and the blocks of its `system`.
///
/// Bytes are text in base64, as in the body of a request; the SDKs for Python and JavaScript take them decoded.
///
/// - [`Rendered::system`](super::Rendered::system) holds the blocks of the instructions. The position of an
///   instruction after the first message is lost, which is reported.
/// - Neighbouring messages of one role become one message. The results of calls are in one message of the user,
///   before anything else in it. Some models of Meta and Mistral accept nothing beside results.
/// - The text of a speaker begins with their name and a colon, unless the name repeats the role.
/// - Text that is only white space is removed. A conversation that does not begin and end with the user gets a
///   message of the user "Continue." there, and so does a document without a text beside it.
/// - Reasoning has its signature, and begins a turn of its own, as in the dialect `anthropic`.
/// - Images, documents, videos and sounds are inline or in S3; all others become their JSON text. The names of
///   documents have the characters that the API accepts, and differ from each other.
/// - A result that is an object is a `json` block. Other results are text.
///
/// Fields and blocks that no other format has, such as `cachePoint`, `guardContent` and `citationsContent`, come back
/// in this dialect.
#[derive(Debug, Clone, Copy)]
pub(super) struct BedrockConverse;

/// The name of the dialect, under which the fields are stored that only this format has.
const NAME: &str = "bedrock-converse";

impl ToolDialect for BedrockConverse {
    const RULES: &'static DialectRules = &rules::BEDROCK_CONVERSE;

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
        Loss::MediaTypes,
        Loss::WebMedia,
        Loss::MediaNames,
        Loss::FileNames,
    ];

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
        prepare::prepare(messages);
    }

    fn provider_violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::provider_violations(messages)
    }

    fn remove_marks(&self, body: &mut MessageBody) {
        layout::remove_cache_points(body);
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
