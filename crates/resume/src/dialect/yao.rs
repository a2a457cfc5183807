use records::{EventId, Message};
use serde_json::Value;

use super::contract::{Dialect, Renderer, Scan};
use super::loss::Loss;
use super::parsed::Parsed;
use super::violation::Violation;
use super::violation_list::ViolationList;
use crate::rendered::{Origin, Rendered};
use crate::window::Window;
use crate::{DropReason, Options};

mod parse;
mod stored;
mod validate;
mod write;

/// The typed messages of Yao's chat storage: what its user interface shows, each with `type` and `props`.
///
/// - A message that came in this format comes back with its `props` as they were, in the same order.
/// - A message of another format becomes one message for each of its parts: `thinking`, `text`, `image`, `audio`, `video` and
///   `tool_call`. A result is a `text` whose metadata name its call.
/// - Instructions are no part of such a chat, and are left out.
/// - The order stays: the format does not require that a call has a result, or that the result follows it.
///
/// The parser stores each message by itself. What the user interface alone knows stays in `type` and `props`; texts, calls and
/// media are stored where all formats have them, so an edit changes them everywhere.
#[derive(Debug, Clone, Copy)]
pub struct Yao;

impl Yao {
    /// Returns the ids in its chat that a message of a request may have: as one of the agent, and as one of a person.
    pub fn stored_ids(request_id: &str, id: &str) -> [Option<EventId>; 2] {
        parse::stored_ids(request_id, id)
    }
}

/// The name of the dialect, and of the field of `provider` that holds what only this format has.
const NAME: &str = "yao";

impl Dialect for Yao {
    fn name(&self) -> &'static str {
        NAME
    }

    fn render(&self, messages: Vec<Message>, _options: &Options) -> Rendered {
        let mut rendered = Rendered::default();
        rendered.messages.reserve(messages.len());
        for (index, message) in messages.into_iter().enumerate() {
            render_one(index, message, &mut rendered);
        }
        rendered
    }

    fn needs_scan(&self) -> bool {
        false
    }

    fn begin_scan(&self, _options: &Options) -> Box<dyn Scan> {
        Box::new(TypedRenderer)
    }

    fn validate(&self, messages: &[Value]) -> Vec<Violation> {
        let mut violations = ViolationList::default();
        for (index, message) in messages.iter().enumerate() {
            violations.report(index, validate::problem(message));
        }
        violations.into_sorted()
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }

    fn losses(&self) -> &'static [Loss] {
        &[
            Loss::Boundaries,
            Loss::Instructions,
            Loss::ReasoningSignatures,
            Loss::RefusalMarks,
            Loss::Errors,
            Loss::CustomCalls,
            Loss::CallSignatures,
        ]
    }
}

/// Renders each message by itself, so that its scan records nothing.
#[derive(Debug)]
struct TypedRenderer;

impl Scan for TypedRenderer {
    fn observe(&mut self, _position: usize, _message: Message) {}

    fn into_renderer(self: Box<Self>, _window: &Window) -> Box<dyn Renderer> {
        self
    }
}

impl Renderer for TypedRenderer {
    fn push(&mut self, index: usize, message: Message, rendered: &mut Rendered) {
        render_one(index, message, rendered);
    }

    fn finish(self: Box<Self>, _rendered: &mut Rendered) {}
}

/// Renders a message as it came in this format; one that came in another format, or no longer fits, from what it says.
fn render_one(index: usize, message: Message, rendered: &mut Rendered) {
    if message.deleted_at.is_none() {
        if stored::is_event(&message.body) {
            let origin = Origin { index, sequence: message.sequence };
            rendered.drop(origin, DropReason::Transient);
            return;
        }
        if let Some(written) = stored::write(&message) {
            stored::report(index, &message, rendered);
            rendered.messages.push(written);
            return;
        }
    }
    write::write(index, message, rendered);
}
