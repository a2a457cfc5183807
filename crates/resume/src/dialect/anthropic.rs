use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{CallIdRule, Form, NameRule, Rules, Writer, is_word};
use super::violation::Violation;
use crate::Options;

mod parse;
mod source;
mod validate;
mod write;

/// The messages of Anthropic's Messages API, and the blocks of its `system`.
///
/// - Instructions are taken out of the list: [`Rendered::system`](super::Rendered::system) holds
///   their blocks. One that comes after something was said is reported, because its place is lost.
/// - Neighbours of one role become one message. The results of calls are one `user` message, results
///   first; what the user says next joins it.
/// - There are no names: what somebody says begins with their name and a colon, unless the name is
///   that of the role.
/// - Text of nothing but white space is left out. A conversation that does not begin or end with the
///   user gets a `user` message "Continue." there.
/// - Reasoning is given in front of what was said, word for word, if the provider signed it.
/// - Ids of calls match `^[a-zA-Z0-9_-]+$`; another becomes `call_` and 32 digits of its digest.
/// - Pictures are JPEG, PNG, GIF or WebP, and files PDF; a text is given as `text/plain`. What has
///   another media type becomes its JSON text.
/// - Arguments are an object; others become its field `input`.
#[derive(Debug, Clone, Copy)]
pub struct Anthropic;

impl Form for Anthropic {
    const RULES: &'static Rules = &Rules {
        functions: NameRule::WORD,
        call_ids: CallIdRule { chars: is_word, ..CallIdRule::ANY },
        ..Rules::ANY
    };

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

    fn writer(&self, options: &Options) -> Box<dyn Writer> {
        Box::new(write::Messages::new(options))
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
