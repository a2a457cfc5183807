//! What all dialects with tool calls have in common: calls are paired with their results, and names
//! and ids are brought into the characters that the dialect admits, before it writes a message.

use std::fmt;

use records::Message;
use serde_json::Value;

use super::contract::{Dialect, Renderer, Survey};
use super::loss::Loss;
use super::parsed::Parsed;
use super::violation::Violation;
use crate::rendered::Rendered;
use crate::window::Window;
use crate::{Options, UnsettledCall};

mod rules;
pub(super) use rules::{CallIdRule, NameRule, OlderCalls, Rules, is_word};

mod writer;
pub(super) use writer::Writer;

mod naming;

mod pairing;

mod renderer;

mod survey;

/// What sets a dialect apart from the others that have tool calls.
///
/// Whatever has a form is a [`Dialect`]: the rest is the same for all.
pub(super) trait Form: fmt::Debug + Send + Sync {
    /// What the dialect admits.
    const RULES: &'static Rules;

    /// See [`Dialect::losses`].
    const LOSSES: &'static [Loss];

    /// See [`Dialect::splits_messages`].
    const SPLITS_MESSAGES: bool = false;

    /// See [`Dialect::name`].
    fn name(&self) -> &'static str;

    /// Returns what writes the messages of one conversation.
    fn writer(&self, options: &Options) -> Box<dyn Writer>;

    /// See [`Dialect::validate`].
    fn violations(&self, messages: &[Value]) -> Vec<Violation>;

    /// See [`Dialect::parse`].
    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed;
}

impl<F: Form> Dialect for F {
    fn name(&self) -> &'static str {
        Form::name(self)
    }

    fn render(&self, messages: Vec<Message>, options: &Options) -> Rendered {
        render(survey(self, options), messages)
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn survey(&self, options: &Options) -> Box<dyn Survey> {
        Box::new(survey(self, options))
    }

    fn validate(&self, messages: &[Value]) -> Vec<Violation> {
        self.violations(messages)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        Form::parse(self, system, messages)
    }

    fn splits_messages(&self) -> bool {
        F::SPLITS_MESSAGES
    }

    fn losses(&self) -> &'static [Loss] {
        F::LOSSES
    }
}

fn survey<F: Form>(form: &F, options: &Options) -> survey::Survey {
    survey::Survey::new(F::RULES, form.writer(options), options.unsettled)
}

fn render(mut survey: survey::Survey, messages: Vec<Message>) -> Rendered {
    let mut rendered = Rendered::default();
    let mut read = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        survey.rules.read(index, message, &mut rendered, |message, _| read.push(message));
    }
    for message in &read {
        survey.note_message(message);
    }
    let mut rest = survey.into_renderer(&Window::WHOLE);
    if !rest.rejected().is_empty() {
        let mut rejected = Rendered::default();
        rest.end(&mut rejected);
        return rejected;
    }
    rendered.messages.reserve(read.len());
    for message in read {
        rest.add(message, &mut rendered);
    }
    rest.end(&mut rendered);
    rendered.dropped.sort_by_key(|dropped| dropped.index);
    rendered
}

impl Survey for survey::Survey {
    fn note(&mut self, position: usize, message: Message) {
        // What is left out here is reported by the renderer.
        let unread = &mut Rendered::default();
        let rules = self.rules;
        rules.read(position, message, unread, |message, _| self.note_message(&message));
    }

    fn finish(self: Box<Self>, window: &Window) -> Box<dyn Renderer> {
        Box::new(self.into_renderer(window))
    }
}

impl Renderer for renderer::Renderer {
    fn push(&mut self, index: usize, message: Message, rendered: &mut Rendered) {
        if self.rejected().is_empty() {
            let rules = self.rules;
            rules.read(index, message, rendered, |message, rendered| self.add(message, rendered));
        }
    }

    fn rejected(&self) -> &[UnsettledCall] {
        self.rejected()
    }

    fn finish(self: Box<Self>, rendered: &mut Rendered) {
        self.end(rendered);
    }
}
