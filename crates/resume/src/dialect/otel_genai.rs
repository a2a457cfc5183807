use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::{DropReason, Options};

mod rules;
mod validate;
mod write;

/// The messages of OpenTelemetry's semantic conventions for generative AI: the value of the attribute
/// `gen_ai.input.messages`, with the value of `gen_ai.system_instructions` in [`Rendered::system`](super::Rendered::system).
///
/// The dialect is for export only: traces are written, and not continued.
///
/// - A message has a role (`user`, `assistant` or `tool`), parts, and the name of its speaker.
/// - The instructions are text parts apart from the messages. An instruction after the first message is reported, because
///   its position is lost.
/// - Arguments are the JSON value that their text holds, or the text if it is not JSON. A response is the stored content.
/// - Inline media are `blob` parts, those at a URL are `uri` parts, and uploaded files are `file` parts, without their names.
/// - A refusal becomes a text, and reasoning loses its signatures.
#[derive(Debug, Clone, Copy)]
pub struct OtelGenAi;

impl ToolDialect for OtelGenAi {
    const RULES: &'static DialectRules = &rules::OTEL_GENAI;

    const LOSSES: &'static [Loss] = &[
        Loss::InstructionPlaces,
        Loss::Developer,
        Loss::ReasoningSignatures,
        Loss::RefusalMarks,
        Loss::Errors,
        Loss::CustomCalls,
        Loss::CallSignatures,
        Loss::MediaNames,
        Loss::FileNames,
    ];

    const IS_EXPORT_ONLY: bool = true;

    fn name(&self) -> &'static str {
        "otel-genai"
    }

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::<write::MessagesWriter>::default()
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        Parsed::from_transcript(Vec::new(), messages, |_| Err::<[_; 0], _>(DropReason::ExportOnly))
    }
}
