use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{Form, NameRule, Rules, Writer};
use super::violation::Violation;
use crate::Options;

mod pairing;
mod parse;
mod validate;
mod write;

/// The `contents` of Gemini's API, and the parts of its system instruction.
///
/// - Instructions are taken out of the list: [`Rendered::system`](super::Rendered::system) holds
///   their parts. One that comes after something was said is reported, because its place is lost.
/// - Neighbours of one role become one turn. The results of calls are a turn of their own, right
///   behind the calls.
/// - There are no names: what somebody says begins with their name and a colon, unless the name is
///   that of the role.
/// - Text of nothing but white space is left out. A conversation that does not begin or end with the
///   user gets a turn "Continue." of the user there.
/// - The first call of a turn carries the signature that came with it, or else the text that tells
///   the API not to look for one. Reasoning is left out.
/// - Names of functions match `^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`; arguments are an object, others
///   become its field `input`. The result of a call is given as `output`, or as `error`.
///
/// What is read may lack the ids of calls: a response without one answers the first call of its
/// function, in the turn before, that nothing else answers.
#[derive(Debug, Clone, Copy)]
pub struct Gemini;

impl Form for Gemini {
    const RULES: &'static Rules = &Rules {
        functions: NameRule {
            max_chars: 128,
            begins: |first| first.is_ascii_alphabetic() || first == '_',
            goes_on: |rest| rest.is_ascii_alphanumeric() || "_.:-".contains(rest),
        },
        ..Rules::ANY
    };

    const LOSSES: &'static [Loss] = &[
        Loss::Names,
        Loss::Boundaries,
        Loss::InstructionPlaces,
        Loss::Developer,
        Loss::BlankText,
        Loss::Reasoning,
        Loss::RefusalMarks,
        Loss::CustomCalls,
        Loss::LaterCallSignatures,
        Loss::MediaKinds,
    ];

    fn name(&self) -> &'static str {
        "gemini"
    }

    fn writer(&self, options: &Options) -> Box<dyn Writer> {
        Box::new(write::Contents::new(options))
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
