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

use std::collections::HashMap;

use records::Message;

use crate::calls;

/// Returns the window of at most `size` messages, in order.
pub fn newest(messages: Vec<Message>, size: usize) -> Vec<Message> {
    let kept = select(&messages, size);
    let pairs = messages.into_iter().zip(kept);
    pairs.filter_map(|(message, keep)| keep.then_some(message)).collect()
}

/// Returns the positions of the messages that [`newest`] would keep, in order.
pub fn newest_indices(messages: &[Message], size: usize) -> Vec<usize> {
    let kept = select(messages, size).into_iter().enumerate();
    kept.filter_map(|(index, keep)| keep.then_some(index)).collect()
}

/// Says of each message whether it is in the window.
fn select(messages: &[Message], size: usize) -> Vec<bool> {
    let (instructions, spoken): (Vec<_>, Vec<_>) =
        (0..messages.len()).partition(|&index| is_instruction(&messages[index]));
    let first_instruction = instructions.len().saturating_sub(size);
    let room = size.saturating_sub(instructions.len());
    let first_spoken = start_of_run(messages, &spoken, room);
    let mut kept = vec![false; messages.len()];
    for &index in instructions[first_instruction..].iter().chain(&spoken[first_spoken..]) {
        kept[index] = true;
    }
    kept
}

fn is_instruction(message: &Message) -> bool {
    matches!(message.body.role.as_str(), "system" | "developer")
}

/// Returns where in `spoken` the longest run of at most `room` begins that has every call its
/// results answer.
fn start_of_run(messages: &[Message], spoken: &[usize], room: usize) -> usize {
    let earliest_calls = earliest_calls(messages, spoken);
    let mut start = spoken.len();
    let mut needed = spoken.len();
    for at in (spoken.len().saturating_sub(room)..spoken.len()).rev() {
        needed = needed.min(earliest_calls[at]);
        if needed >= at {
            start = at;
        }
    }
    start
}

/// Returns for each spoken message the earliest one with a call that it answers, else itself.
fn earliest_calls(messages: &[Message], spoken: &[usize]) -> Vec<usize> {
    let mut last_made = HashMap::new();
    let mut earliest = Vec::with_capacity(spoken.len());
    for (at, &index) in spoken.iter().enumerate() {
        let body = &messages[index].body;
        let answers = calls::answered(body).filter_map(|key| last_made.get(&key).copied());
        earliest.push(answers.min().unwrap_or(at));
        last_made.extend(calls::made(body).map(|key| (key, at)));
    }
    earliest
}
