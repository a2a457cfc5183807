//! Ids of messages that are derived, so that a repeat of what stored them has the same. A caller with `say` alone may choose none of
//! these forms: a message with such an id would keep a turn or an answer from being stored.

use crate::EventId;
use crate::json::{Digest, Hasher, hex};

/// The digits of the digest in the id of an answer.
const ANSWER_DIGITS: usize = 24;

impl EventId {
    /// Derives the id of a message of a turn from the digest of the turn's id. All have about the same length.
    pub fn of_turn(turn: &Digest, index: usize) -> Self {
        Self::of_valid(format!("turn_{}_{index}", hex(turn)))
    }

    /// Derives the id of an answer from named texts that say what it answers.
    pub fn of_answer(answered: &[(&str, &str)]) -> Self {
        let mut hasher = Hasher::default();
        for (name, text) in answered {
            hasher.field(name, &(*text).into());
        }
        Self::of_valid(format!("answer_{}", &hex(&hasher.finish())[..ANSWER_DIGITS]))
    }

    /// Returns whether the id has the form of those of the messages of turns.
    pub fn is_of_turn(&self) -> bool {
        let rest = self.as_str().strip_prefix("turn_").and_then(|rest| rest.split_once('_'));
        rest.is_some_and(|(digest, _)| is_hex(digest, 2 * size_of::<Digest>()))
    }

    /// Returns whether the id has the form of one that is derived.
    pub fn is_derived(&self) -> bool {
        let answer = self.as_str().strip_prefix("answer_");
        self.is_of_turn() || answer.is_some_and(|digest| is_hex(digest, ANSWER_DIGITS))
    }
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_ids_are_known_by_their_form() {
        let turn = EventId::of_turn(&[7; 16], 12);
        let answer = EventId::of_answer(&[("chat", "c1"), ("request", "r1")]);
        assert!(turn.is_of_turn() && turn.is_derived());
        assert!(!answer.is_of_turn() && answer.is_derived());
        for id in ["turn_1", "turn_of_bob", "answer_me", "answer_0123456789abcdef0123456"] {
            assert!(!EventId::parse(id).unwrap().is_derived(), "{id}");
        }
    }
}
