//! The forms in which a conversation is handed out, one file for each.
//!
//! A dialect renders stored messages and says, in code of its own, whether a list of messages is
//! in its form. A rendering always passes its dialect's validation, is the same for the same
//! messages, and is left as it is when it is rendered again.

use std::collections::BTreeMap;
use std::fmt;

use records::Message;
use serde::Serialize;
use serde_json::Value;

use crate::window::Window;
use crate::{DropReason, Dropped, Options, Repair, Repaired, UnsettledCall};

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

/// A form of conversation.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// Names the dialect in requests.
    fn name(&self) -> &'static str;

    /// Brings messages into the form, in order, and reports what that left out or changed.
    ///
    /// The messages must be in the order of the chat. What the form has no field for, such as
    /// `metadata` and `timestamp`, is not in the rendering and not reported; every message that is
    /// missing from it is reported once in [`Rendered::dropped`], as is each tool result when a
    /// message holds several.
    fn render(&self, messages: Vec<Message>, options: &Options) -> Rendered;

    /// Says whether a message cannot be rendered before later ones have been seen.
    fn looks_ahead(&self) -> bool;

    /// Begins to render a conversation that is too long to be held, for [`crate::replay`].
    fn survey(&self, options: &Options) -> Box<dyn Survey>;

    /// Returns the ways in which the messages break the rules of the form, by position; of very many
    /// only the first ones.
    fn validate(&self, messages: &[Value]) -> Vec<Violation>;

    /// Reads a transcript in the form, with the instructions that stand apart from its messages.
    ///
    /// Rendering what was read from a rendering gives the same rendering, with nothing left out or
    /// changed.
    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed;

    /// Says whether several entries of a transcript may be one message.
    fn splits_messages(&self) -> bool {
        false
    }

    /// Says what of a transcript is not in its rendering, or not told from other things there.
    fn losses(&self) -> &'static [Loss];
}

/// Takes note of what has to be known before the first message of a conversation is rendered.
///
/// Each message goes by once, in order, and is not kept. A dialect that does not look ahead need
/// not be shown any.
pub trait Survey: fmt::Debug + Send {
    /// Takes note of the message at a position of the conversation.
    fn note(&mut self, position: usize, message: Message);

    /// Goes on to render those messages that are in the window.
    fn finish(self: Box<Self>, window: &Window) -> Box<dyn Renderer>;
}

/// Renders messages one by one, as [`Dialect::render`] does at once.
///
/// What it renders is in the form also when messages have been edited or deleted since they were
/// surveyed.
pub trait Renderer: fmt::Debug + Send {
    /// Adds the message at a position of the window to the rendering.
    fn push(&mut self, index: usize, message: Message, rendered: &mut Rendered);

    /// Returns the calls for which nothing is rendered: see [`Rendered::rejected`].
    fn rejected(&self) -> &[UnsettledCall] {
        &[]
    }

    /// Adds what can only be said in the end.
    fn finish(self: Box<Self>, rendered: &mut Rendered);
}

/// A conversation in the form of a dialect.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Rendered {
    /// The messages.
    pub messages: Vec<Value>,
    /// What was left out, by position.
    pub dropped: Vec<Dropped>,
    /// What was changed, by position.
    pub repaired: Vec<Repaired>,
    /// The original of each name that was changed.
    pub names: BTreeMap<String, String>,
    /// The original of each call id that was changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ids: BTreeMap<String, String>,
    /// The instructions, where the form wants them apart from the messages; in the form's own blocks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Value>,
    /// The calls without results for which [`Unsettled::Reject`](crate::Unsettled) rendered nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<UnsettledCall>,
}

/// A rule of a dialect that a message breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The position of the message.
    pub index: usize,
    /// Names the rule.
    pub rule: &'static str,
    /// What is wrong.
    pub detail: String,
}

/// The rule that a message breaks, and what is wrong.
type Problem = (&'static str, String);

/// Where a message that is being rendered comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) index: usize,
    pub(crate) sequence: u64,
}

impl Rendered {
    pub(crate) fn drop(&mut self, origin: Origin, reason: DropReason) {
        self.dropped.push(Dropped { index: origin.index, sequence: Some(origin.sequence), reason });
    }

    pub(crate) fn repair(&mut self, origin: Origin, repair: Repair) {
        self.repaired.push(Repaired { index: origin.index, sequence: origin.sequence, repair });
    }
}

impl Violation {
    fn new(index: usize, rule: &'static str, detail: impl Into<String>) -> Self {
        Self { index, rule, detail: detail.into() }
    }

    /// Returns the violations by the message at a position.
    fn at(index: usize, problems: impl IntoIterator<Item = Problem>) -> impl Iterator<Item = Self> {
        problems.into_iter().map(move |(rule, detail)| Self::new(index, rule, detail))
    }
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
