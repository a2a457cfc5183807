//! Renders a conversation that is too long for memory while it is read.
//!
//! A [`Replay`] takes stored messages one by one and returns rendered messages. The result is that of
//! [`Dialect::render`] on the [window] of the same messages.
//!
//! Most dialects require two passes over the conversation. In the first pass, a [`ReplayScan`] sees
//! every message; it keeps a few bytes for each call, result and instruction, and each name once. The
//! conversation may change between the passes:
//!
//! - Messages that were appended after the first pass are not rendered.
//! - Edited or deleted messages are rendered as the second pass finds them. The rendering is valid in
//!   its dialect all the same: a call whose result was deleted gets the result null, and a result
//!   whose call was deleted is dropped.
//!
//! A [`FirstPass`] keeps the messages of a conversation that fits into memory: these are rendered
//! without a second pass.

use std::mem;
use std::vec::Drain;

use records::Message;
use serde_json::Value;

use crate::dialect::{Dialect, Renderer, Scan};
use crate::rendered::Rendered;
use crate::window::{self, Window, WindowScan};
use crate::{Options, UnsettledCall};

/// The dialect and the extent of a rendering.
#[derive(Debug, Clone)]
pub struct Form {
    /// The dialect of the messages.
    pub dialect: &'static dyn Dialect,
    /// Only this many of the newest messages.
    pub newest: Option<usize>,
    /// The options of the dialect.
    pub options: Options,
}

/// The first pass over a conversation of unknown length, of which the first messages are held in memory.
#[derive(Debug)]
pub struct FirstPass {
    form: Form,
    scan: ReplayScan,
    held: Vec<Message>,
    held_bytes: usize,
    /// How many bytes may be held; `None` if the conversation is longer.
    room: Option<usize>,
}

/// What the first pass results in.
#[derive(Debug)]
pub enum Rendering {
    /// The whole conversation was held, and is rendered.
    Whole {
        /// The rendering.
        rendered: Rendered,
        /// The size of the messages that it was made of, in bytes.
        bytes: usize,
        /// The sequence after the last message.
        last_sequence: u64,
    },
    /// The conversation is read again, and is rendered meanwhile.
    Replayed(Box<Replay>),
}

impl FirstPass {
    /// Begins the pass; `room` is the size of the messages that may be held, in bytes.
    pub fn new(form: Form, room: usize) -> Self {
        let scan = ReplayScan::new(form.dialect, form.newest, &form.options);
        Self { form, scan, held: Vec::new(), held_bytes: 0, room: Some(room) }
    }

    /// Returns whether the pass can be left out, because the first message depends on no later one.
    pub fn is_needed(&self) -> bool {
        self.scan.is_needed()
    }

    /// Returns whether all messages so far are held.
    pub fn is_held(&self) -> bool {
        self.room.is_some()
    }

    /// Returns the size of the messages that are held, in bytes.
    pub fn held_bytes(&self) -> usize {
        if self.is_held() { self.held_bytes } else { 0 }
    }

    /// Records the next messages, which have this size together.
    pub fn observe(&mut self, messages: Vec<Message>, bytes: usize) {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        self.held.extend(messages);
        self.room = self.room.filter(|room| self.held_bytes <= *room);
        if self.room.is_none() {
            for message in mem::take(&mut self.held) {
                self.scan.observe(message);
            }
        }
    }

    /// Ends the pass without having seen a message.
    pub fn skip(self) -> Rendering {
        Rendering::Replayed(Box::new(self.scan.into_replay()))
    }

    /// Ends the pass.
    pub fn finish(self) -> Rendering {
        if !self.is_held() {
            return self.skip();
        }
        let Self { form: Form { dialect, newest, options }, held, held_bytes: bytes, .. } = self;
        let last_sequence = held.last().map_or(0, |last| last.sequence + 1);
        let messages = match newest {
            Some(size) => window::newest(held, size),
            None => held,
        };
        Rendering::Whole { rendered: dialect.render(messages, &options), bytes, last_sequence }
    }
}

impl Rendering {
    /// Returns the rejected calls; if there are any, nothing is rendered: see [`Rendered::rejected`].
    pub fn rejected(&self) -> &[UnsettledCall] {
        match self {
            Self::Whole { rendered, .. } => &rendered.rejected,
            Self::Replayed(replay) => replay.rejected(),
        }
    }
}

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
