use std::fmt;

use records::Message;
use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::violation::Violation;
use crate::rendered::Rendered;
use crate::window::Window;
use crate::{Options, UnsettledCall};

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

    /// Begins to render a conversation that is too long to be held, for a replay.
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
