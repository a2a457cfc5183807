//! The newest messages of a conversation, without separating a tool call from its results.
//!
//! A window of size `n` is chosen as follows:
//!
//! 1. System and developer messages are kept at their positions, and counted. If there are more than
//!    `n` of them, only the newest `n` of them are kept, and no other messages.
//! 2. Of the other messages, the window keeps the longest run up to the end that fits into the rest
//!    of `n` and *separates no call from its results*. A message that makes calls (`tool_calls`,
//!    `function_call`), the messages that answer them (`tool_call_id`, `tool_responses`, role
//!    `function`) and all messages between these are in the window together, or none of them is. A
//!    result belongs to the nearest earlier message that makes its call. The same is true of the messages of
//!    one answer of a model, which its format wrote as several.
//!
//! So a window may hold fewer than `n` messages. It is empty if `n` is 0, or if the conversation ends
//! with a call that has more results than fit. A window keeps results without calls and calls without
//! results as they are: a [dialect](crate::dialect) decides about them. Deleted messages count like
//! any other message.
//!
//! Two positions define a window. So [`WindowScan`] can choose one for a conversation that is too
//! long for memory.

use std::collections::{HashMap, VecDeque};

use records::{Message, MessageBody};
use serde_json::Value;

use crate::calls::{self, CallKey};
use crate::canonical::{AnswerMark, AnswerShape};

/// Returns the messages in the window of this size, in order.
pub fn newest(messages: Vec<Message>, size: usize) -> Vec<Message> {
    let window = scan(&messages, size);
    let numbered = messages.into_iter().enumerate();
    let kept = numbered.filter(|(position, message)| window.contains(*position, message));
    kept.map(|(_, message)| message).collect()
}

/// Returns the positions of the messages that [`newest`] keeps, in order.
pub fn newest_indices(messages: &[Message], size: usize) -> Vec<usize> {
    let window = scan(messages, size);
    let numbered = messages.iter().enumerate();
    let kept = numbered.filter(|(position, message)| window.contains(*position, message));
    kept.map(|(position, _)| position).collect()
}

fn scan(messages: &[Message], size: usize) -> Window {
    let mut scan = WindowScan::new(size);
    for message in messages {
        scan.observe(message);
    }
    scan.into_window()
}

/// Which messages of a conversation are in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The position of the first system or developer message in the window.
    first_instruction: usize,
    /// The position from which on every other message is in the window.
    first_dialogue: usize,
}

impl Window {
    /// The window that holds the whole conversation.
    pub const WHOLE: Self = Self { first_instruction: 0, first_dialogue: 0 };

    /// Returns the position from which on every message that is no system or developer message is in the window.
    pub fn first_dialogue(&self) -> usize {
        self.first_dialogue
    }

    /// Returns whether the message at a position of the conversation is in the window.
    pub fn contains(&self, position: usize, message: &Message) -> bool {
        self.contains_kind(position, MessageKind::from_role(&message.body.role))
    }

    pub(crate) fn contains_kind(&self, position: usize, kind: MessageKind) -> bool {
        match kind {
            MessageKind::Instruction => position >= self.first_instruction,
            MessageKind::Dialogue => position >= self.first_dialogue,
        }
    }
}

/// The kind of a message: a window begins at another position for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// A system or developer message.
    Instruction,
    /// Any other message.
    Dialogue,
}

impl MessageKind {
    fn from_role(role: &str) -> Self {
        if matches!(role, "system" | "developer") { Self::Instruction } else { Self::Dialogue }
    }
}

/// Chooses a window while it sees each message of a conversation once, in order.
///
/// A scan needs a few bytes for each call, each result and each instruction, whatever their sizes.
#[derive(Debug)]
pub struct WindowScan {
    size: usize,
    /// How many messages were observed.
    count: usize,
    /// The positions of the newest instructions, at most `size` of them.
    instructions: VecDeque<usize>,
    /// The position of the last message that makes each call.
    last_callers: HashMap<CallKey, usize>,
    /// The answer to which the next message may belong.
    answer: Option<OpenAnswer>,
    links: Vec<Link>,
}

/// An answer of a model that was written as several messages.
#[derive(Debug)]
struct OpenAnswer {
    mark: AnswerMark,
    shape: AnswerShape,
    /// The position of its first message.
    start: usize,
}

/// A message that is not in the window without an earlier one.
#[derive(Debug)]
struct Link {
    position: usize,
    /// The position of the earliest message that makes a call that it answers, or of the first message of its answer.
    earliest: usize,
}

impl WindowScan {
    /// Begins the scan for a window of at most `size` messages.
    pub fn new(size: usize) -> Self {
        Self {
            size,
            count: 0,
            instructions: VecDeque::new(),
            last_callers: HashMap::new(),
            answer: None,
            links: Vec::new(),
        }
    }

    /// Returns the same scan for a window of another size, at most that with which it began.
    #[must_use]
    pub fn resized(mut self, size: usize) -> Self {
        self.size = self.size.min(size);
        let excess = self.instructions.len().saturating_sub(self.size);
        self.instructions.drain(..excess);
        self
    }

    /// Records the next message.
    pub fn observe(&mut self, message: &Message) {
        let position = self.count;
        self.count += 1;
        if MessageKind::from_role(&message.body.role) == MessageKind::Instruction {
            self.instructions.push_back(position);
            if self.instructions.len() > self.size {
                self.instructions.pop_front();
            }
            return;
        }
        let answered = calls::calls_answered(&message.body);
        let made_at = answered.filter_map(|key| self.last_callers.get(&key).copied());
        let earliest =
            made_at.min().into_iter().chain(self.start_of_answer(position, message)).min();
        self.links.extend(earliest.map(|earliest| Link { position, earliest }));
        self.last_callers.extend(calls::calls_made(&message.body).map(|key| (key, position)));
    }

    /// Returns the position of the first message of the answer that a message continues.
    fn start_of_answer(&mut self, position: usize, message: &Message) -> Option<usize> {
        let provider = message.body.extra.get(MessageBody::PROVIDER).and_then(Value::as_object);
        let mark = provider.and_then(AnswerMark::read);
        let shape = AnswerShape::of_body(&message.body);
        let may_interrupt = mark.is_none() && (message.body.role == "tool" || shape.is_reasoning());
        if let Some(open) = &mut self.answer {
            if may_interrupt && open.mark.id.is_some() {
                return None;
            }
            if !may_interrupt && open.mark.is_same(open.shape, mark.as_ref(), shape) {
                open.shape = open.shape.with(shape);
                return Some(open.start);
            }
        }
        self.answer = mark.map(|mark| OpenAnswer { mark, shape, start: position });
        None
    }

    /// Ends the scan, and returns the window.
    pub fn into_window(self) -> Window {
        let first_instruction = self.instructions.front().copied().unwrap_or(self.count);
        let mut first_dialogue = self.earliest_start();
        // If the window would begin between two linked messages, it begins after the later one
        // instead. Links are in order, so that all earlier ones stay outside, and one pass is enough.
        for link in &self.links {
            if link.earliest < first_dialogue && first_dialogue <= link.position {
                first_dialogue = link.position + 1;
            }
        }
        Window { first_instruction, first_dialogue }
    }

    /// Returns the position after which as many messages follow as fit, not counting instructions.
    fn earliest_start(&self) -> usize {
        let room = self.size - self.instructions.len();
        let mut start = self.count.saturating_sub(room);
        for &instruction in self.instructions.iter().rev() {
            if instruction < start {
                break;
            }
            start = start.saturating_sub(1);
        }
        start
    }
}
