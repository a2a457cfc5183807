//! The newest part of a conversation, small enough to send and whole enough to go on from.
//!
//! A window of size `n` is chosen so:
//!
//! 1. System and developer messages are kept where they stand, and counted. When there are more
//!    than `n` of them, the newest `n` are kept and nothing else.
//! 2. Of the other messages the window keeps the longest run up to the end that fits in what is
//!    left of `n` and *separates no call from its results*: a message that makes calls
//!    (`tool_calls`, `function_call`) and the messages that answer them (`tool_call_id`,
//!    `tool_responses`, role `function`) are in the window all together or not at all, and so is
//!    whatever stands between them. A result belongs to the nearest message before it that makes
//!    its call.
//!
//! Hence a window may hold fewer than `n` messages, and none when `n` is 0 or when a call with
//! more results than fit stands at the end. A result without a call, or a call without results,
//! is neither mended nor left out here: that is for a [dialect](crate::dialect) to do. Deleted
//! messages count like any others.

//!
//! Two positions say which messages are in a window, so that it can be chosen while a conversation
//! goes by that is too long to be held: see [`Survey`].

use std::collections::{HashMap, VecDeque};

use records::Message;

use crate::calls::{self, CallKey};

/// Returns the window of at most `size` messages, in order.
pub fn newest(messages: Vec<Message>, size: usize) -> Vec<Message> {
    let window = survey(&messages, size);
    let numbered = messages.into_iter().enumerate();
    let kept = numbered.filter(|(position, message)| window.contains(*position, message));
    kept.map(|(_, message)| message).collect()
}

/// Returns the positions of the messages that [`newest`] would keep, in order.
pub fn newest_indices(messages: &[Message], size: usize) -> Vec<usize> {
    let window = survey(messages, size);
    let numbered = messages.iter().enumerate();
    let kept = numbered.filter(|(position, message)| window.contains(*position, message));
    kept.map(|(position, _)| position).collect()
}

fn survey(messages: &[Message], size: usize) -> Window {
    let mut survey = Survey::new(size);
    for message in messages {
        survey.note(message);
    }
    survey.finish()
}

/// Which messages of a conversation are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The position of the first system or developer message in it.
    first_instruction: usize,
    /// The position from which on every other message is in it.
    first_spoken: usize,
}

impl Window {
    /// The window that holds the whole conversation.
    pub const WHOLE: Self = Self { first_instruction: 0, first_spoken: 0 };

    /// Says whether the message at a position of the conversation is in the window.
    pub fn contains(&self, position: usize, message: &Message) -> bool {
        self.contains_part(position, Part::of_role(&message.body.role))
    }

    pub(crate) fn contains_part(&self, position: usize, part: Part) -> bool {
        match part {
            Part::Instruction => position >= self.first_instruction,
            Part::Spoken => position >= self.first_spoken,
        }
    }
}

/// The two kinds of messages that a window treats apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A system or developer message.
    Instruction,
    /// Any other message.
    Spoken,
}

impl Part {
    fn of_role(role: &str) -> Self {
        if matches!(role, "system" | "developer") { Self::Instruction } else { Self::Spoken }
    }
}

/// Chooses a window while the messages of a conversation go by, each once and in order.
///
/// Holds a few bytes for each call, each result and each instruction, whatever they say.
#[derive(Debug)]
pub struct Survey {
    size: usize,
    /// How many messages have gone by.
    count: usize,
    /// The positions of the newest instructions, as many as fit.
    instructions: VecDeque<usize>,
    /// Where each call was last made.
    last_made: HashMap<CallKey, usize>,
    answers: Vec<Answer>,
}

/// A message that answers calls.
#[derive(Debug)]
struct Answer {
    position: usize,
    /// Where the earliest of the calls was made.
    earliest_call: usize,
}

impl Survey {
    /// Begins to choose a window of at most `size` messages.
    pub fn new(size: usize) -> Self {
        Self {
            size,
            count: 0,
            instructions: VecDeque::new(),
            last_made: HashMap::new(),
            answers: Vec::new(),
        }
    }

    /// Takes note of the next message.
    pub fn note(&mut self, message: &Message) {
        let position = self.count;
        self.count += 1;
        if Part::of_role(&message.body.role) == Part::Instruction {
            self.instructions.push_back(position);
            if self.instructions.len() > self.size {
                self.instructions.pop_front();
            }
            return;
        }
        let answered = calls::answered(&message.body);
        let made_at = answered.filter_map(|key| self.last_made.get(&key).copied());
        if let Some(earliest_call) = made_at.min() {
            self.answers.push(Answer { position, earliest_call });
        }
        self.last_made.extend(calls::made(&message.body).map(|key| (key, position)));
    }

    /// Returns the window of the messages that went by.
    pub fn finish(self) -> Window {
        let first_instruction = self.instructions.front().copied().unwrap_or(self.count);
        let mut first_spoken = self.start_of_room();
        // An answer that would be separated from its call is left outside, too. Moving on past it
        // also leaves every answer outside that was looked at before, so one walk is enough.
        for answer in &self.answers {
            if answer.earliest_call < first_spoken && first_spoken <= answer.position {
                first_spoken = answer.position + 1;
            }
        }
        Window { first_instruction, first_spoken }
    }

    /// Returns the position from which on as many spoken messages follow as fit.
    fn start_of_room(&self) -> usize {
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
