//! What all dialects with tool calls have in common.
//!
//! Before a dialect writes a message, the pipeline matches calls with their results, and replaces
//! names and ids that the dialect does not accept. It makes two passes: [`scan`] sees the whole
//! conversation, [`renderer`] then renders it.

use std::{fmt, mem};

use records::{Message, MessageBody};
use serde_json::Value;

use super::contract::{Dialect, Renderer, Resent, Scan};
use super::loss::Loss;
use super::parsed::Parsed;
use super::violation::Violation;
use crate::rendered::Rendered;
use crate::window::Window;
use crate::{Options, UnsettledCall};

pub(super) mod rules;
pub(super) use rules::{DialectRules, TurnRules, is_word};

mod lowering;
use lowering::LoweringWriter;

mod viewpoint;
use viewpoint::Viewpoint;

mod writer;
pub(super) use writer::MessageWriter;

mod call_ids;

mod joiner;

mod late_results;

mod matching;
pub(crate) use matching::INTERRUPTED_RESULT;

mod names;

mod renderer;
use renderer::ToolCallRenderer;

mod scan;
use scan::ToolCallScan;

/// A dialect with tool calls: only what distinguishes it from the other ones.
///
/// Every type that implements this trait is a [`Dialect`].
pub(super) trait ToolDialect: fmt::Debug + Send + Sync {
    /// What the dialect accepts.
    const RULES: &'static DialectRules;

    /// See [`Dialect::losses`].
    const LOSSES: &'static [Loss];

    /// Returns what the dialect accepts, if that depends on its profile.
    fn rules(&self) -> &'static DialectRules {
        Self::RULES
    }

    /// See [`Dialect::is_export_only`].
    const IS_EXPORT_ONLY: bool = false;

    /// See [`Dialect::splits_messages`].
    const SPLITS_MESSAGES: bool = false;

    /// See [`Dialect::resent`].
    const RESENT: Resent = Resent::Refused;

    /// See [`Dialect::name`].
    fn name(&self) -> &'static str;

    /// Returns the writer for the messages of one conversation.
    fn writer(&self, options: &Options) -> Box<dyn MessageWriter>;

    /// See [`Dialect::validate`].
    fn violations(&self, messages: &[Value]) -> Vec<Violation>;

    /// See [`Dialect::waiting`].
    fn waiting(&self, _messages: &[Value]) -> Vec<Violation> {
        Vec::new()
    }

    /// See [`Dialect::prepare`].
    fn prepare(&self, _messages: &mut [Value]) {}

    /// See [`Dialect::remove_marks`].
    fn remove_marks(&self, _body: &mut MessageBody) {}

    /// See [`Dialect::remove_call_states`].
    fn remove_call_states(&self, body: &mut MessageBody) {
        body.extra.remove(MessageBody::PROVIDER);
    }

    /// See [`Dialect::provider_violations`].
    fn provider_violations(&self, _messages: &[Value]) -> Vec<Violation> {
        Vec::new()
    }

    /// See [`Dialect::needs_context`].
    fn needs_context(&self, _messages: &[Value]) -> bool {
        false
    }

    /// See [`Dialect::context_of`].
    fn context_of(&self, _log: &[Message]) -> Vec<Value> {
        Vec::new()
    }

    /// See [`Dialect::parse`].
    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed;
}

impl<D: ToolDialect> Dialect for D {
    fn name(&self) -> &'static str {
        ToolDialect::name(self)
    }

    fn render(&self, messages: Vec<Message>, options: &Options) -> Rendered {
        render(new_scan(self, options), messages)
    }

    fn needs_scan(&self) -> bool {
        true
    }

    fn begin_scan(&self, options: &Options) -> Box<dyn Scan> {
        Box::new(new_scan(self, options))
    }

    fn validate(&self, messages: &[Value]) -> Vec<Violation> {
        self.violations(messages)
    }

    fn waiting(&self, messages: &[Value]) -> Vec<Violation> {
        ToolDialect::waiting(self, messages)
    }

    fn prepare(&self, messages: &mut [Value]) {
        ToolDialect::prepare(self, messages);
    }

    fn remove_marks(&self, body: &mut MessageBody) {
        ToolDialect::remove_marks(self, body);
    }

    fn remove_call_states(&self, body: &mut MessageBody) {
        ToolDialect::remove_call_states(self, body);
    }

    fn provider_violations(&self, messages: &[Value]) -> Vec<Violation> {
        ToolDialect::provider_violations(self, messages)
    }

    fn is_export_only(&self) -> bool {
        D::IS_EXPORT_ONLY
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        ToolDialect::parse(self, system, messages)
    }

    fn splits_messages(&self) -> bool {
        D::SPLITS_MESSAGES
    }

    fn resent(&self) -> Resent {
        D::RESENT
    }

    fn needs_context(&self, messages: &[Value]) -> bool {
        ToolDialect::needs_context(self, messages)
    }

    fn context_of(&self, log: &[Message]) -> Vec<Value> {
        ToolDialect::context_of(self, log)
    }

    fn losses(&self) -> &'static [Loss] {
        D::LOSSES
    }
}

fn new_scan<D: ToolDialect>(dialect: &D, options: &Options) -> ToolCallScan {
    let rules = dialect.rules();
    let writer = LoweringWriter::new(rules, dialect.writer(options));
    let viewpoint = Viewpoint::new(options.viewpoint.clone());
    ToolCallScan::new(rules, Box::new(writer), options.unsettled, viewpoint)
}

/// Renders messages that are all in memory: each is read once, and serves both passes.
fn render(mut scan: ToolCallScan, messages: Vec<Message>) -> Rendered {
    let mut rendered = Rendered::default();
    let mut read = Vec::with_capacity(messages.len());
    let (mut viewpoint, mut joiner) = (scan.viewpoint.clone(), scan.rules.joiner());
    let mut see = |message, rendered: &mut Rendered| read.extend(viewpoint.see(message, rendered));
    for (index, message) in messages.into_iter().enumerate() {
        scan.rules.read(index, message, &mut joiner, &mut rendered, &mut see);
    }
    scan.rules.finish(&mut joiner, &mut rendered, &mut see);
    for message in &read {
        scan.observe_message(message);
    }
    let mut window = scan.into_renderer(&Window::WHOLE);
    if !window.rejected().is_empty() {
        let mut rejected = Rendered::default();
        window.end(&mut rejected);
        return rejected;
    }
    rendered.messages.reserve(read.len());
    for message in read {
        window.add(message, &mut rendered);
    }
    window.end(&mut rendered);
    rendered
}

impl Scan for ToolCallScan {
    fn observe(&mut self, position: usize, message: Message) {
        // The second pass reads the message again and reports what is dropped.
        let ignored = &mut Rendered::default();
        let rules = self.rules;
        let mut joiner = mem::take(&mut self.joiner);
        rules.read(position, message, &mut joiner, ignored, |message, ignored| {
            self.see(message, ignored);
        });
        self.joiner = joiner;
    }

    fn into_renderer(mut self: Box<Self>, window: &Window) -> Box<dyn Renderer> {
        let ignored = &mut Rendered::default();
        let rules = self.rules;
        let mut joiner = mem::take(&mut self.joiner);
        rules.finish(&mut joiner, ignored, |message, ignored| self.see(message, ignored));
        Box::new((*self).into_renderer(window))
    }
}

impl Renderer for ToolCallRenderer {
    fn push(&mut self, index: usize, message: Message, rendered: &mut Rendered) {
        if self.rejected().is_empty() {
            let rules = self.rules;
            let mut joiner = mem::take(&mut self.joiner);
            rules.read(index, message, &mut joiner, rendered, |message, rendered| {
                self.see(message, rendered);
            });
            self.joiner = joiner;
        }
    }

    fn rejected(&self) -> &[UnsettledCall] {
        self.rejected()
    }

    fn finish(mut self: Box<Self>, rendered: &mut Rendered) {
        let rules = self.rules;
        let mut joiner = mem::take(&mut self.joiner);
        rules.finish(&mut joiner, rendered, |message, rendered| self.see(message, rendered));
        self.end(rendered);
    }
}
