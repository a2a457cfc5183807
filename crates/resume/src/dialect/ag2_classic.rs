use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::prepare::without_null_fields;
use super::violation::Violation;
use crate::Options;

mod profile;
pub use profile::Profile;

mod parse;
mod rules;
mod validate;
mod write;

/// The messages from which AG2 up to version 0.14 resumes a group chat, with system and tool messages.
///
/// Names of agents stay unchanged: only the group chat knows which agents exist. AG2 attributes a
/// message without a name to the manager.
///
/// - The content is a text or a list of text and image parts; anything else becomes its JSON text. Null
///   beside calls becomes the empty text, because AG2 would turn it into the text `None`. A refusal
///   without content becomes the content.
/// - The name `_User` is removed, because AG2 removes it itself.
/// - Images are JPEG, PNG, GIF or WebP files, or have a web address.
/// - Names of functions match `^[a-zA-Z0-9_-]{1,64}$`, and arguments are the text of an object. More than
///   128 calls become several messages.
/// - Ids of calls have at most 40 characters, as in [`OpenAi`](super::OpenAi).
#[derive(Debug, Clone, Copy)]
pub struct Ag2Classic {
    /// The AG2 interface that resumes the messages.
    pub profile: Profile,
}

impl ToolDialect for Ag2Classic {
    const RULES: &'static DialectRules = &rules::AG2_CLASSIC;

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

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::MessagesWriter::new(self.profile))
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(self.profile, messages)
    }

    fn prepare(&self, messages: &mut [Value]) {
        without_null_fields(messages);
    }

    fn provider_violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::provider_violations(messages)
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(messages)
    }
}
