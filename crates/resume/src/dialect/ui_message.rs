use records::MessageBody;
use serde_json::Value;

use super::contract::Resent;
use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;
use crate::canonical::CanonicalMessage;

mod call;
mod fields;
mod own;
mod parse;
mod reasoning;
mod rules;
mod validate;
mod write;
pub(crate) use own::mark_step;
pub(crate) use write::write_file;

/// The `UIMessage` of the AI SDK.
///
/// - [`Rendered::system`](super::Rendered::system) holds the texts of the system instructions, apart
///   from the messages. An instruction after the first message is reported, because its position is
///   lost.
/// - The id of a message is its event id, and the `name` in its `metadata` is the speaker.
/// - A call and its result are one part of the type `dynamic-tool`, in the message that makes the call.
///   Its state is `output-available`, or `output-error` if the call failed.
/// - Reasoning is a part before the text, with the signature of Anthropic or the id and the encrypted content of `OpenAI` in
///   its `providerMetadata`. Signed reasoning keeps its position between texts.
/// - The signature that Gemini gives a call is in the `callProviderMetadata` of its part.
/// - Images, sounds and files are `file` parts; media that only a provider has, or that
///   have a relative URL, become their JSON text.
///
/// A message that came in this format comes back as it was, with the order of its parts, its steps and data, the states of its
/// texts and calls, approvals and metadata. The parser turns the content after a call into a separate message, which is
/// rendered as part of the message that it continues. A call that came without a result is shown in the state in which it
/// waited, unless a policy for such calls is chosen. What the user said while the message was made is a message of the user
/// between two of its steps. Fields that the SDK does not have are stored and not rendered.
#[derive(Debug, Clone, Copy)]
pub struct UiMessage;

/// The name of the dialect, and of the field of `provider` that holds what only this format has.
const NAME: &str = "ui-message";

/// Returns whether a call of a message waited for its input, an approval or its output when it was stored.
fn waits(message: &CanonicalMessage) -> bool {
    let entries = message.provider.get("parts").and_then(Value::as_array);
    entries.into_iter().flatten().any(call::is_waiting)
}

impl ToolDialect for UiMessage {
    // Reference "UIMessage": a call waits for its input, for an approval or for its output.
    const RULES: &'static DialectRules = &DialectRules { waits, ..rules::UI_MESSAGE };

    const LOSSES: &'static [Loss] =
        &[Loss::InstructionPlaces, Loss::Developer, Loss::RefusalMarks, Loss::CustomCalls];

    const RESENT: Resent = Resent::Replaces;

    fn name(&self) -> &'static str {
        NAME
    }

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::MessagesWriter::default())
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn waiting(&self, messages: &[Value]) -> Vec<Violation> {
        validate::waiting(messages)
    }

    fn provider_violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::provider_violations(messages)
    }

    fn remove_call_states(&self, body: &mut MessageBody) {
        own::remove_call_states(body);
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
