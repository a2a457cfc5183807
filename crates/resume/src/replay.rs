//! A conversation that is too long to be held, rendered while it is read.
//!
//! A [`Replay`] is handed the messages one by one and hands out what they become. The outcome is
//! that of [`Dialect::render`] on the [window] of the same messages.
//!
//! Where something has to be known beforehand, the conversation is read twice: a [`Survey`] lets
//! it go by, and keeps a few bytes for each call, result and instruction, and each name once.
//! Between the two readings the conversation may change:
//!
//! - What was appended after the first reading is left out of the second.
//! - What was edited or deleted is rendered as the second reading finds it. The outcome is in the
//!   form of the dialect all the same: a call whose result has gone is answered with null, and a
//!   result whose call has gone is dropped.

use std::vec::Drain;

use records::Message;
use serde_json::Value;

use crate::dialect::{self, Dialect, Renderer};
use crate::rendered::Rendered;

use crate::window::{self, Window};
use crate::{Options, UnsettledCall};

/// The first reading.
#[derive(Debug)]
pub struct Survey {
    window: Option<window::Survey>,
    dialect: Box<dyn dialect::Survey>,
    looks_ahead: bool,
    count: usize,
}

impl Survey {
    /// Begins a rendering of the `newest` messages, or of all of them.
    pub fn new(dialect: &dyn Dialect, newest: Option<usize>, options: &Options) -> Self {
        Self {
            window: newest.map(window::Survey::new),
            dialect: dialect.survey(options),
            looks_ahead: dialect.looks_ahead(),
            count: 0,
        }
    }

    /// Says whether the messages have to be [noted](Survey::note), all of them, before they are
    /// rendered.
    pub fn is_needed(&self) -> bool {
        self.looks_ahead || self.window.is_some()
    }

    /// Takes note of the next message.
    pub fn note(&mut self, message: Message) {
        let position = self.count;
        self.count += 1;
        if let Some(window) = &mut self.window {
            window.note(&message);
        }
        if self.looks_ahead {
            self.dialect.note(position, message);
        }
    }

    /// Goes on to the second reading.
    pub fn finish(self) -> Replay {
        let end = self.is_needed().then_some(self.count);
        let window = self.window.map_or(Window::WHOLE, window::Survey::finish);
        let renderer = self.dialect.finish(&window);
        Replay { window, renderer, rendered: Rendered::default(), position: 0, index: 0, end }
    }
}

/// The second reading, or the only one.
#[derive(Debug)]
pub struct Replay {
    window: Window,
    renderer: Box<dyn Renderer>,
    rendered: Rendered,
    /// How many messages have been handed in.
    position: usize,
    /// How many of them were in the window.
    index: usize,
    /// How many there were when the conversation was surveyed.
    end: Option<usize>,
}

impl Replay {
    /// Takes the next message, from the first one of the chat on, and hands out what is ready.
    pub fn push(&mut self, message: Message) -> Drain<'_, Value> {
        let position = self.position;
        self.position += 1;
        let is_known = self.end.is_none_or(|end| position < end);
        if is_known && self.window.contains(position, &message) {
            self.renderer.push(self.index, message, &mut self.rendered);
            self.index += 1;
        }
        self.rendered.messages.drain(..)
    }

    /// Says whether every message that was surveyed has been handed in.
    pub fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| self.position >= end)
    }

    /// Returns the calls for which nothing is rendered: see [`Rendered::rejected`].
    pub fn rejected(&self) -> &[UnsettledCall] {
        self.renderer.rejected()
    }

    /// Returns the messages that are left, and all that was left out or changed.
    pub fn finish(mut self) -> Rendered {
        self.renderer.finish(&mut self.rendered);
        self.rendered
    }
}
