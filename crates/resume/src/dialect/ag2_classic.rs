use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{CallIdRule, Form, NameRule, Rules, Writer};
use super::violation::Violation;
use crate::Options;

mod profile;
pub use profile::Profile;

mod parse;
mod validate;
mod write;

/// The messages that AG2 up to 0.14 resumes a group chat from, with system and tool messages.
///
/// Names are those of agents and stay as they are: whether they are known is for the group chat to
/// say. A message without one is attributed to the manager.
///
/// - A content is text or a list of text and image parts; anything else becomes its JSON text. Null
///   beside calls becomes the empty text, because AG2 would make it the text `None`, and a refusal
///   without content becomes the content.
/// - The name `_User`, which AG2 takes away itself, is left out.
/// - Names of functions match `^[a-zA-Z0-9_-]{1,64}$`, and arguments are text.
/// - Ids of calls have 40 characters at most, as in [`OpenAi`](super::OpenAi).
#[derive(Debug, Clone, Copy)]
pub struct Ag2Classic {
    /// Which of AG2's ways to resume the messages are for.
    pub profile: Profile,
}

impl Form for Ag2Classic {
    const RULES: &'static Rules =
        &Rules { functions: NameRule::WORD, call_ids: CallIdRule::SHORT, ..Rules::ANY };

    const LOSSES: &'static [Loss] = &[
        Loss::BlankText,
        Loss::CustomCalls,
        Loss::CallSignatures,
        Loss::Errors,
        Loss::OtherMedia,
        Loss::MediaNames,
    ];

    fn name(&self) -> &'static str {
        match self.profile {
            Profile::Pattern => "ag2-classic",
            Profile::Manager => "ag2-classic-manager",
        }
    }

    fn writer(&self, _options: &Options) -> Box<dyn Writer> {
        Box::new(write::Messages::new(self.profile))
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(self.profile, messages)
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(messages)
    }
}
