//! Search in what was said: the words of a text, what a search asks for, and the part of a text that is shown.

mod query;
mod snippet;
mod words;

pub use query::{SearchQuery, WordRange};
pub use snippet::Snippet;
pub use words::{MAX_INDEXED_WORDS, MAX_WORD_CHARS, said, search_words};

use crate::ChatId;
use chrono::{DateTime, Utc};

/// How many bits of a rank come from the chat, and how many from the sequence.
const CHAT_BITS: u32 = 11;
const SEQUENCE_BITS: u32 = 10;

/// Returns the place of a message among the hits of a search, the newest of which is the greatest: its time, then bits of its
/// chat and its sequence, so that few messages of an app have the same one.
#[must_use]
pub fn search_rank(created_at: DateTime<Utc>, chat_id: &ChatId, sequence: u64) -> i64 {
    // FNV-1a. It must never change, because ranks are stored.
    let chat = chat_id.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let low = |value: u64, bits: u32| value & ((1 << bits) - 1);
    let place = low(chat >> 32, CHAT_BITS) << SEQUENCE_BITS | low(sequence, SEQUENCE_BITS);
    let time = created_at.timestamp_millis().saturating_mul(1 << (CHAT_BITS + SEQUENCE_BITS));
    time.saturating_add(i64::try_from(place).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_ordered_by_time_and_then_by_sequence() {
        let rank = |ms, sequence| {
            let at = DateTime::from_timestamp_millis(ms).unwrap();
            search_rank(at, &ChatId::parse("c1").unwrap(), sequence)
        };
        assert!(rank(1_800_000_000_001, 0) > rank(1_800_000_000_000, 1_023));
        assert!(rank(1_800_000_000_000, 7) > rank(1_800_000_000_000, 6));
        // It is stored, so it stays what it is.
        assert_eq!(rank(1_800_000_000_000, 7), 3_774_873_600_001_842_183);
    }
}
