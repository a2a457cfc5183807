use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;
use crate::canonical::{Call, CanonicalMessage};

mod fields;
mod media;
mod own;
mod parse;
mod prepare;
mod read_parts;
mod result;
mod rules;
mod validate;
mod write;
mod write_parts;

/// The events of a session of Google's Agent Development Kit, as `Event.model_dump` writes them.
///
/// - The author is the name of the speaker: `user`, or the name of the agent. The role of the content
///   says whether a person or a model speaks.
/// - An event with results becomes one message with these results. Other parts beside results become a
///   message of their own, which joins the event again.
/// - [`Rendered::system`](super::Rendered::system) holds the instructions, because an agent has its
///   instructions, not a session.
/// - The signature of a call is stored with the call; other signatures are stored for this dialect alone.
///   The signatures of reasoning from other providers are removed.
/// - Text that is only white space is removed, unless the library wrote it.
/// - A result that is not an object becomes the field `result` of one; that of a failed call the field
///   `error`. Data that is not valid base64, and media that only a provider has, become their JSON text.
/// - An event without an invocation belongs to the one of the event before it; the user begins a new one.
///   An event without a timestamp gets the time at which the library loads it.
/// - Calls of long-running tools may wait for their results, unless a policy for such calls is chosen, or the
///   event has other calls as well.
///
/// The parser stores every field of an event. Those that no other format has, such as `actions` and
/// `usageMetadata`, come back in this dialect alone. An event that has only such fields, for example a
/// change of the state, is a message without content. Partial events are dropped: the library does not
/// store them either, because the whole event follows.
#[derive(Debug, Clone, Copy)]
pub struct GoogleAdk;

/// The name of the dialect, under which the fields are stored that only this format has.
const NAME: &str = "google-adk";

/// The field of an event with the ids of its calls whose results may come much later.
const LONG_RUNNING: &str = "longRunningToolIds";

/// Returns whether all calls of a message are of long-running tools, so that they may wait for their results.
fn waits(message: &CanonicalMessage) -> bool {
    let ids = message.provider.get("event").and_then(|event| event.get(LONG_RUNNING));
    ids.is_some_and(fields::is_text_list)
        && message.calls.iter().all(|call| is_long_running(message, call))
}

/// Returns whether a call of a message is one of a long-running tool.
fn is_long_running(message: &CanonicalMessage, call: &Call) -> bool {
    let ids = message.provider.get("event").and_then(|event| event.get(LONG_RUNNING));
    let ids = ids.filter(|ids| fields::is_text_list(ids)).and_then(Value::as_array);
    ids.is_some_and(|ids| ids.contains(&call.stored_id.as_str().into()))
}

/// Returns whether the calls of a message, all of whose own fields are still there, may have several results each.
///
/// In the library any call may be answered again, as one is that a person must confirm first: it gives its model the last
/// answer.
pub(in crate::dialect) fn repeats_results(message: &CanonicalMessage) -> bool {
    message.provider.get(NAME).is_some_and(|own| own.get("event").is_some())
}

impl ToolDialect for GoogleAdk {
    // `Event.long_running_tool_ids`: such a call stays in the contents before it has a result.
    const RULES: &'static DialectRules =
        &DialectRules { waits, keeps_repeated_results: true, ..rules::GOOGLE_ADK };

    const LOSSES: &'static [Loss] = &[
        Loss::InstructionPlaces,
        Loss::Developer,
        Loss::BlankText,
        Loss::ReasoningSignatures,
        Loss::RefusalMarks,
        Loss::CustomCalls,
        Loss::MediaKinds,
    ];

    fn name(&self) -> &'static str {
        NAME
    }

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::EventsWriter::default())
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn waiting(&self, messages: &[Value]) -> Vec<Violation> {
        validate::waiting(messages)
    }

    fn prepare(&self, messages: &mut [Value]) {
        prepare::prepare(messages);
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
