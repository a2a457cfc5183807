use records::Message;
use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;
use crate::canonical::CanonicalMessage;

mod answer;
mod block;
mod chain;
mod draft;
mod own;
mod parse;
mod rules;
mod user;
mod validate;
mod write;

/// The entries of a session of the Claude Agent SDK, as its `SessionStore` appends and loads them, and as Claude Code
/// writes them: one entry for each line of a transcript.
///
/// - An answer of the model may be several entries, one for each of its blocks, and results of its calls may come between
///   them. Each is a message of its own; they have the same `message.id`, and other formats render one message.
/// - Entries that are no messages, such as titles, snapshots of files and marks of compaction, are stored as messages that
///   say nothing. Only this dialect renders them; all others report them as dropped. The same is true of the entries of
///   sub-agents after one of the main conversation.
/// - The `uuid` of an entry is its event id. Any other event id becomes a UUID that is made from its digest. An entry of
///   another format follows the entry before it.
/// - A call of the SDK that has no result yet is rendered as it is, unless a policy for such calls is chosen.
/// - The system instructions are kept apart: the options of the SDK have them, not the session.
/// - There are no names: the text of a speaker begins with their name and a colon, unless the name repeats the role.
/// - Content and calls follow the rules of [`Anthropic`](super::Anthropic), to which the SDK sends them. Blank texts and
///   unsigned reasoning are kept only in the entries in which the SDK wrote them.
///
/// The parser stores all fields. Those that no other format has are stored in `provider`, so that an edit of a message
/// replaces its entries by a new one with the same `uuid`.
#[derive(Debug, Clone, Copy)]
pub struct ClaudeAgentSdk;

/// The name of the dialect, and of the object in `provider` that holds what only this format has.
const NAME: &str = "claude-agent-sdk";

/// Returns whether the SDK wrote a message: its calls may have no results.
fn is_own(message: &CanonicalMessage) -> bool {
    message.provider.contains_key(own::ENTRY)
}

/// Returns whether the calls of a message may have several results each: those of an entry, whose own fields are still there.
pub(in crate::dialect) fn repeats_results(message: &CanonicalMessage) -> bool {
    message.provider.get(NAME).is_some_and(|own| own.get(own::ENTRY).is_some())
}

impl ToolDialect for ClaudeAgentSdk {
    // `getSessionMessages` and a resumed session take a call without a result as one that was interrupted.
    const RULES: &'static DialectRules = &DialectRules { waits: is_own, ..rules::CLAUDE_AGENT_SDK };

    const LOSSES: &'static [Loss] = &[
        Loss::Names,
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
        NAME
    }

    fn writer(&self, options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::EntriesWriter::new(options))
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn needs_context(&self, messages: &[Value]) -> bool {
        messages.iter().any(parse::is_of_sub_agent)
    }

    fn context_of(&self, log: &[Message]) -> Vec<Value> {
        parse::context_of(log)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
