//! A subscriber receives every message after its position once and in order, over any number of streams,
//! and has all messages in the end.

use std::collections::BTreeSet;

use super::chat::Chat;
use super::reads::no_longer_so;
use super::{Finding, Kind};

pub(super) fn check(chat: &Chat<'_>, findings: &mut Vec<Finding>) {
    let mut report = |kind, detail: String| findings.push(Finding::in_chat(kind, chat.id, detail));
    let count = chat.stored.messages.len() as u64;
    for (subscriber, pieces) in &chat.subscriptions {
        let mut held = Held::after(pieces.first().map_or(-1, |piece| piece.after));
        for told in pieces.iter().flat_map(|piece| &piece.told) {
            let sequence = told.message.sequence;
            if let Some((kind, detail)) = no_longer_so(chat, &told.message) {
                report(kind, format!("{detail}, by subscriber {subscriber}"));
            }
            if let Some(kind) = held.take(sequence) {
                report(kind, format!("{sequence} was sent to subscriber {subscriber}"));
            }
        }
        if let Some((first, missing)) = held.missing(count) {
            let detail = format!(
                "{missing} messages were not told to subscriber {subscriber}, {first} is the first"
            );
            report(Kind::NotTold, detail);
        }
    }
}

/// The messages that a subscriber has.
struct Held {
    /// It has everything before this sequence, except what is missing.
    next: u64,
    missing: BTreeSet<u64>,
}

impl Held {
    fn after(sequence: i64) -> Self {
        Self { next: u64::try_from(sequence + 1).unwrap_or(0), missing: BTreeSet::new() }
    }

    /// Takes a message of the chat, and returns what is wrong with receiving it now.
    fn take(&mut self, sequence: u64) -> Option<Kind> {
        if sequence < self.next {
            let was_missing = self.missing.remove(&sequence);
            return Some(if was_missing { Kind::ToldLate } else { Kind::ToldTwice });
        }
        self.missing.extend(self.next..sequence);
        self.next = sequence + 1;
        None
    }

    /// The first missing message below a number, and how many are missing.
    fn missing(&self, count: u64) -> Option<(u64, u64)> {
        let first = self.missing.first().copied().or((self.next < count).then_some(self.next))?;
        Some((first, self.missing.len() as u64 + count.saturating_sub(self.next)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::checker::sketch::{Sketch, kinds};

    fn three() -> Sketch {
        let sketch = Sketch::new().append("a", 0, [1, 2]).append("b", 1, [3, 4]);
        sketch.append("c", 2, [5, 6]).ends_with(["a", "b", "c"])
    }

    #[test]
    fn a_stream_is_the_conversation_from_where_it_begins() {
        assert_eq!(kinds(&three().told(-1, [(0, "a"), (1, "b"), (2, "c")], [1, 7])), []);
        assert_eq!(kinds(&three().told(0, [(1, "b"), (2, "c")], [4, 7])), []);
        assert_eq!(kinds(&three().told(2, [], [6, 7])), []);
    }

    #[test]
    fn streams_of_one_subscriber_follow_one_another() {
        let one = three().told(-1, [(0, "a")], [1, 3]).told(0, [], [3, 4]);
        assert_eq!(kinds(&one.clone().told(0, [(1, "b"), (2, "c")], [4, 7])), []);
        assert_eq!(kinds(&one.clone().told(0, [(2, "c")], [4, 7])), [Kind::NotTold]);
        let again = one.told(0, [(0, "a"), (1, "b"), (2, "c")], [4, 7]);
        assert_eq!(kinds(&again), [Kind::ToldTwice]);
    }

    #[test]
    fn what_is_left_out_doubled_or_swapped_is_found() {
        let lost = three().told(-1, [(0, "a"), (2, "c")], [1, 7]);
        assert_eq!(kinds(&lost), [Kind::NotTold]);
        let doubled = three().told(-1, [(0, "a"), (1, "b"), (1, "b"), (2, "c")], [1, 7]);
        assert_eq!(kinds(&doubled), [Kind::ToldTwice]);
        let swapped = three().told(-1, [(1, "b"), (0, "a"), (2, "c")], [1, 7]);
        assert_eq!(kinds(&swapped), [Kind::ToldLate]);
    }

    #[test]
    fn a_subscriber_who_is_not_told_the_end_is_found() {
        assert_eq!(kinds(&three().told(-1, [(0, "a"), (1, "b")], [1, 7])), [Kind::NotTold]);
        assert_eq!(kinds(&three().told(1, [], [5, 7])), [Kind::NotTold]);
    }

    #[test]
    fn what_is_told_is_what_is_there() {
        let phantom = three().told(-1, [(0, "a"), (1, "b"), (2, "c"), (3, "d")], [1, 7]);
        assert_eq!(kinds(&phantom), [Kind::Vanished]);
        let moved = three().told(-1, [(0, "b"), (1, "a"), (2, "c")], [1, 7]);
        assert!(kinds(&moved).contains(&Kind::Moved));
    }

    #[test]
    fn a_message_that_was_told_was_there() {
        let sketch = Sketch::new().unknown("a", [1, 9]).append("b", 0, [5, 6]);
        let told = sketch.ends_with(["b", "a"]).told(0, [(1, "a")], [1, 4]);
        assert!(kinds(&told).contains(&Kind::Reordered));
    }
}
