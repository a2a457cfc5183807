use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{Form, NameRule, Rules, Writer};
use super::violation::Violation;
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
/// - Instructions are taken out of the list: [`Rendered::system`](super::Rendered::system) holds
///   their texts. One that comes after something was said is reported, because its place is lost.
/// - The speaker is the `name` in the `metadata` of what is said. Reasoning is left out.
/// - What an agent says is one text; several are joined by a line break. Arguments are the JSON text
///   of an object; others become its field `input`.
#[derive(Debug, Clone, Copy)]
pub struct Ag2V1;

impl Form for Ag2V1 {
    const RULES: &'static Rules = &Rules { functions: NameRule::WORD, ..Rules::ANY };

    const LOSSES: &'static [Loss] = &[
        Loss::InstructionPlaces,
        Loss::Developer,
        Loss::Reasoning,
        Loss::RefusalMarks,
        Loss::CustomCalls,
        Loss::CallSignatures,
        Loss::JoinedTexts,
        Loss::SilentSpeakers,
    ];

    const SPLITS_MESSAGES: bool = true;

    fn name(&self) -> &'static str {
        "ag2-v1"
    }

    fn writer(&self, _options: &Options) -> Box<dyn Writer> {
        Box::new(write::Events::default())
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
