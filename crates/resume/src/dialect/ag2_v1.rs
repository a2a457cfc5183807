use records::Message;
use serde_json::Value;

use super::pipeline::{self, NameRule, OlderCalls, Rules};
use super::{Dialect, Loss, Parsed, Rendered, Survey, Violation};
use crate::Options;

mod events;
mod parse;
mod validate;
mod write;

/// The events of AG2 1.x, as its storage keeps them: JSON with the class in `__event__`.
///
/// A message of the user is a `ModelRequest`, one of an agent a `ModelResponse`; calls follow as
/// `ToolCallsEvent` and `ToolCallEvent`, each result as `ToolResultEvent` or `ToolErrorEvent`, and all
/// of them once more as `ToolResultsEvent`, which settles the calls.
///
/// - Instructions are taken out of the list: [`Rendered::system`] holds their texts. One that comes
///   after something was said is reported, because its place is lost.
/// - The speaker is the `name` in the `metadata` of what is said. Reasoning is left out.
/// - What an agent says is one text; several are joined by a line break. Arguments are the JSON text
///   of an object; others become its field `input`.
#[derive(Debug, Clone, Copy)]
pub struct Ag2V1;

static RULES: Rules = Rules {
    speakers: NameRule::ANY,
    functions: NameRule::WORD,
    call_ids: |_| true,
    older_calls: OlderCalls::Converted,
};

impl Dialect for Ag2V1 {
    fn name(&self) -> &'static str {
        "ag2-v1"
    }

    fn render(&self, messages: Vec<Message>, options: &Options) -> Rendered {
        pipeline::render(&RULES, write::Events::default(), messages, options)
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn survey(&self, options: &Options) -> Box<dyn Survey> {
        pipeline::survey(&RULES, write::Events::default(), options)
    }

    fn validate(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }

    fn losses(&self) -> &'static [Loss] {
        &[
            Loss::InstructionPlaces,
            Loss::Developer,
            Loss::Reasoning,
            Loss::RefusalMarks,
            Loss::CustomCalls,
            Loss::CallSignatures,
            Loss::JoinedTexts,
            Loss::SilentSpeakers,
        ]
    }
}
