//! The forms in which a conversation is handed out, one file for each.
//!
//! A dialect renders stored messages and says, in code of its own, whether a list of messages is
//! in its form. A rendering always passes its dialect's validation, is the same for the same
//! messages, and is left as it is when it is rendered again.

use serde_json::Value;

pub use crate::rendered::Rendered;

mod contract;
pub use contract::{Dialect, Renderer, Survey};

mod violation;
pub use violation::Violation;

mod loss;
pub use loss::Loss;

mod parsed;
pub use parsed::{Parsed, Place};

pub(crate) mod acp;
pub use acp::Acp;

mod ag2;
pub use ag2::Ag2;

mod openai;
pub use openai::OpenAi;

mod ag2_classic;
pub use ag2_classic::{Ag2Classic, Profile};

mod ag2_v1;
pub use ag2_v1::Ag2V1;

mod anthropic;
pub use anthropic::Anthropic;

mod gemini;
pub use gemini::Gemini;

mod langchain;
pub use langchain::LangChain;

pub(crate) mod ui_message;
pub use ui_message::UiMessage;

mod found;

mod instructions;

mod open_calls;

mod pipeline;

mod speaker;

mod turns;

/// Every dialect, in the order in which they are listed.
pub const ALL: [&dyn Dialect; 10] = [
    &Ag2,
    &Ag2Classic { profile: Profile::Pattern },
    &Ag2Classic { profile: Profile::Manager },
    &Ag2V1,
    &OpenAi,
    &Anthropic,
    &Gemini,
    &LangChain,
    &UiMessage,
    &Acp,
];

/// Returns the dialect of that name.
pub fn named(name: &str) -> Option<&'static dyn Dialect> {
    ALL.into_iter().find(|dialect| dialect.name() == name)
}

/// Returns the names that [`named`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().map(Dialect::name)
}

/// Says whether the messages keep to the rules of a dialect, or which they break, by position.
pub fn validate(dialect: &dyn Dialect, messages: &[Value]) -> Result<(), Vec<Violation>> {
    let found = dialect.validate(messages);
    if found.is_empty() { Ok(()) } else { Err(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 10] = [
        "ag2",
        "ag2-classic",
        "ag2-classic-manager",
        "ag2-v1",
        "openai",
        "anthropic",
        "gemini",
        "langchain",
        "ui-message",
        "acp",
    ];

    #[test]
    fn every_dialect_is_found_by_its_name() {
        assert_eq!(names().collect::<Vec<_>>(), NAMES);
        for name in names() {
            assert_eq!(named(name).map(Dialect::name), Some(name));
        }
        assert!(named("AG2").is_none());
    }
}
