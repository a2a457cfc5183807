use std::fmt;

use records::{Message, MessageBody};
use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::violation::Violation;
use crate::rendered::Rendered;
use crate::window::Window;
use crate::{Options, UnsettledCall};

/// A message format of another system.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// Returns the name of the dialect in requests.
    fn name(&self) -> &'static str;

    /// Renders messages in the dialect, in order, and reports what it dropped or changed.
    ///
    /// The messages must be in the order of the chat. Fields that no dialect has, such as `metadata`
    /// and `timestamp`, are omitted without a report. Every message that is missing from the rendering
    /// is reported once in [`Rendered::dropped`], and so is each missing result of a message with
    /// several results.
    fn render(&self, messages: Vec<Message>, options: &Options) -> Rendered;

    /// Returns whether rendering a message requires a scan of the messages after it.
    fn needs_scan(&self) -> bool;

    /// Begins to render a conversation that is too long for memory, for [`crate::replay`].
    fn begin_scan(&self, options: &Options) -> Box<dyn Scan>;

    /// Returns the rules of the dialect that the messages break, ordered by position.
    ///
    /// Only the first violations are returned if there are very many.
    fn validate(&self, messages: &[Value]) -> Vec<Violation>;

    /// Returns what is noted of a transcript although a rendering may have it, ordered by position: calls that wait for
    /// something, in a format that shows chats while they run, and fields that a later version of the format has.
    fn waiting(&self, _messages: &[Value]) -> Vec<Violation> {
        Vec::new()
    }

    /// Brings what libraries write into the form that the dialect describes: leaves out fields that are null, and gives
    /// fields with other names the names that they have.
    fn prepare(&self, _messages: &mut [Value]) {}

    /// Returns what the provider refuses although the format allows it, ordered by position.
    ///
    /// These are the limits that matter to continue a conversation; a transcript that breaks them can
    /// be stored. Only the first violations are returned if there are very many.
    fn provider_violations(&self, _messages: &[Value]) -> Vec<Violation> {
        Vec::new()
    }

    /// Returns whether the dialect is rendered only: its parser drops every message.
    fn is_export_only(&self) -> bool {
        false
    }

    /// Parses a transcript in the dialect, and its system instructions, if they are kept apart.
    ///
    /// Rendering what was parsed from a rendering gives the same rendering again, with nothing
    /// dropped or changed, unless the dialect is [for export only](Dialect::is_export_only).
    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed;

    /// Removes from a message what a client moves from one transcript to the next although it says the same.
    fn remove_marks(&self, _body: &mut MessageBody) {}

    /// Removes from an answer with calls what the dialect alone keeps of it and changes when the calls are made, such as their states.
    fn remove_call_states(&self, body: &mut MessageBody) {
        body.extra.remove(MessageBody::PROVIDER);
    }

    /// Returns whether several entries of a transcript may form one message.
    fn splits_messages(&self) -> bool {
        false
    }

    /// Returns what happens to a message whose id is stored with another body.
    fn resent(&self) -> Resent {
        Resent::Refused
    }

    /// Returns whether a piece of a transcript names calls that the log may hold, without their ids.
    fn needs_context(&self, _messages: &[Value]) -> bool {
        false
    }

    /// Returns messages that make the calls of the newest messages of a log, to be parsed before a piece that
    /// [needs](Dialect::needs_context) them.
    fn context_of(&self, _log: &[Message]) -> Vec<Value> {
        Vec::new()
    }

    /// Returns what the dialect cannot represent.
    fn losses(&self) -> &'static [Loss];
}

/// What happens to a message whose id is stored with another body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resent {
    /// It is refused.
    Refused,
    /// It replaces what is stored: a message is sent again with more in it.
    Replaces,
    /// In a piece of a transcript, it continues what is stored: a message is sent in chunks.
    Continues,
}

/// The first pass over a conversation: collects what must be known before the first message is rendered.
///
/// A scan sees each message once, in order, and does not keep it. It may be skipped for a dialect
/// that [needs none](Dialect::needs_scan).
pub trait Scan: fmt::Debug + Send {
    /// Records what matters about the message at a position of the conversation.
    fn observe(&mut self, position: usize, message: Message);

    /// Ends the scan, and returns the renderer for the messages in the window.
    fn into_renderer(self: Box<Self>, window: &Window) -> Box<dyn Renderer>;
}

/// The second pass over a conversation: renders messages one by one, with the result of [`Dialect::render`].
///
/// The rendering is valid in the dialect even if messages were edited or deleted after the scan.
pub trait Renderer: fmt::Debug + Send {
    /// Adds the message at a position of the window to the rendering.
    fn push(&mut self, index: usize, message: Message, rendered: &mut Rendered);

    /// Returns the rejected calls; if there are any, nothing is rendered: see [`Rendered::rejected`].
    fn rejected(&self) -> &[UnsettledCall] {
        &[]
    }

    /// Adds what is known only at the end of the conversation.
    fn finish(self: Box<Self>, rendered: &mut Rendered);
}
