//! Renders a conversation that is too long for memory while it is read.
//!
//! A [`Replay`] takes stored messages one by one and returns rendered messages. The result is that of
//! [`Dialect::render`] on the [window](crate::window) of the same messages.
//!
//! Most dialects require two passes over the conversation. In the first pass, a [`ReplayScan`] sees
//! every message; it keeps a few bytes for each call, result and instruction, and each name once. The
//! conversation may change between the passes:
//!
//! - Messages that were appended after the first pass are not rendered.
//! - Edited or deleted messages are rendered as the second pass finds them. The rendering is valid in
//!   its dialect all the same: a call whose result was deleted gets the result null, and a result
//!   whose call was deleted is dropped.

use std::vec::Drain;

use records::Message;
use serde_json::Value;

use crate::dialect::{Dialect, Renderer, Scan};
use crate::rendered::Rendered;

use crate::window::{Window, WindowScan};
use crate::{Options, UnsettledCall};

/// The first pass.
#[derive(Debug)]
pub struct ReplayScan {
    window: Option<WindowScan>,
    dialect: Box<dyn Scan>,
    dialect_needs_scan: bool,
    /// How many messages were observed.
    count: usize,
}

impl ReplayScan {
    /// Begins to render the window of the `newest` messages, or all messages.
    pub fn new(dialect: &dyn Dialect, newest: Option<usize>, options: &Options) -> Self {
        Self {
            window: newest.map(WindowScan::new),
            dialect: dialect.begin_scan(options),
            dialect_needs_scan: dialect.needs_scan(),
            count: 0,
        }
    }

    /// Returns whether all messages must be [observed](ReplayScan::observe) before the first one is
    /// rendered.
    pub fn is_needed(&self) -> bool {
        self.dialect_needs_scan || self.window.is_some()
    }

    /// Records the next message.
    pub fn observe(&mut self, message: Message) {
        let position = self.count;
        self.count += 1;
        if let Some(window) = &mut self.window {
            window.observe(&message);
        }
        if self.dialect_needs_scan {
            self.dialect.observe(position, message);
        }
    }

    /// Ends the first pass, and begins the second one.
    pub fn into_replay(self) -> Replay {
        let end = self.is_needed().then_some(self.count);
        let window = self.window.map_or(Window::WHOLE, WindowScan::into_window);
        let renderer = self.dialect.into_renderer(&window);
        Replay { window, renderer, rendered: Rendered::default(), position: 0, index: 0, end }
    }
}

/// The second pass, or the only one.
#[derive(Debug)]
pub struct Replay {
    window: Window,
    renderer: Box<dyn Renderer>,
    rendered: Rendered,
    /// How many messages were pushed.
    position: usize,
    /// How many of them were in the window.
    index: usize,
    /// How many messages the first pass saw; `None` if there was no first pass.
    end: Option<usize>,
}

impl Replay {
    /// Takes the next message, beginning with the first of the chat, and returns the rendered messages.
    pub fn push(&mut self, message: Message) -> Drain<'_, Value> {
        let position = self.position;
        self.position += 1;
        let was_observed = self.end.is_none_or(|end| position < end);
        if was_observed && self.window.contains(position, &message) {
            self.renderer.push(self.index, message, &mut self.rendered);
            self.index += 1;
        }
        self.rendered.messages.drain(..)
    }

    /// Returns whether every message that the first pass saw was pushed.
    pub fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| self.position >= end)
    }

    /// Returns the rejected calls; if there are any, nothing is rendered: see [`Rendered::rejected`].
    pub fn rejected(&self) -> &[UnsettledCall] {
        self.renderer.rejected()
    }

    /// Ends the replay, and returns the last messages and the report of what was dropped or changed.
    pub fn finish(mut self) -> Rendered {
        self.renderer.finish(&mut self.rendered);
        self.rendered
    }
}
