use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;

mod content;
mod items;
mod open_call;
mod parse;
mod part;
mod reasoning;
pub(super) use reasoning::{stored_block as stored_reasoning, summary_of};

mod rules;
mod validate;
mod write;

/// The items of `OpenAI`'s Responses API: the list that `input` takes, and that sessions of the
/// Agents SDK store.
///
/// - A message is an item, its reasoning are items before it, and each of its calls and results is one
///   after it. Each item is stored by itself. Renderings join what a model said in one turn: reasoning, one message, and
///   calls.
/// - An answer has the content parts `output_text` and `refusal`. One that is a plain text without an
///   id of the API is written as `role` and `content`. An answer that needs an id gets one from its
///   event id.
/// - There are no names: the text of a speaker begins with their name and a colon, unless the name
///   repeats the role.
/// - Names of functions match `^[a-zA-Z0-9_-]{1,64}$`. Ids of calls have at most 64 characters.
/// - What a model says between a call and its output is rendered before the call.
/// - The API accepts only its own reasoning, which it knows by an id or by the encrypted content. Other
///   reasoning is removed.
/// - Items of tools that the API defines and the client runs, such as `local_shell_call`, are stored as
///   calls, and items of tools that the API runs itself, such as `web_search_call`, as content parts.
///   Both are written again as the items that they were. A reference to an item is dropped.
///
/// What only this format has is stored with what it belongs to: in `extra_content.openai` of a call
/// and of reasoning, in the fields of a content part, and otherwise in the field `openai-responses` of
/// `provider`. Fields that are null or an empty list are not stored.
#[derive(Debug, Clone, Copy)]
pub struct OpenAiResponses;

/// The name of the dialect, and of the field of `provider` that holds what only this format has.
const NAME: &str = "openai-responses";

impl ToolDialect for OpenAiResponses {
    const RULES: &'static DialectRules = &rules::OPENAI_RESPONSES;

    const LOSSES: &'static [Loss] = &[
        Loss::Names,
        Loss::Boundaries,
        Loss::BlankText,
        Loss::Reasoning,
        Loss::Errors,
        Loss::CustomCalls,
        Loss::CallSignatures,
        Loss::Sounds,
        Loss::MediaTypes,
        Loss::MediaNames,
    ];

    fn name(&self) -> &'static str {
        NAME
    }

    fn writer(&self, options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::ItemsWriter::new(options))
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
