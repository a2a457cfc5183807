use std::fmt;
use std::str::FromStr;

/// How much of a chat a subscriber has.
///
/// As text it is the id of an event: the sequence of the last message and, if messages have been edited,
/// a dot and the revision: `41`, `41.3`. A sequence without a revision means that the subscriber knows
/// of no edits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The sequence of the next message.
    pub(crate) next: u64,
    /// The revision up to which the subscriber knows the edits of the messages before `next`.
    pub(crate) revision: u64,
}

impl Position {
    /// Before the first message.
    pub(crate) const BEGINNING: Self = Self { next: 0, revision: 0 };

    /// After everything, however much there is.
    pub(crate) const END: Self = Self { next: u64::MAX, revision: u64::MAX };

    /// Returns the sequence of the last message before the position, -1 if there is none.
    pub(crate) fn last_sequence(self) -> i64 {
        i64::try_from(self.next).map_or(i64::MAX, |next| next - 1)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.next.checked_sub(1), self.revision) {
            (None, _) => f.write_str("-1"),
            (Some(last), 0) => write!(f, "{last}"),
            (Some(last), revision) => write!(f, "{last}.{revision}"),
        }
    }
}

impl FromStr for Position {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const RULE: &str = "must be a sequence or the id of an event, such as 41 or 41.3, or -1";
        if text == "-1" {
            return Ok(Self::BEGINNING);
        }
        let number = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            // The store counts with signed 64-bit integers.
            text.parse::<i64>().ok().filter(|_| is_plain).map(i64::unsigned_abs).ok_or(RULE)
        };
        let (last, revision) = text.split_once('.').unwrap_or((text, "0"));
        Ok(Self { next: number(last)? + 1, revision: number(revision)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_written() {
        for (text, next, revision) in [("-1", 0, 0), ("0", 1, 0), ("41", 42, 0), ("41.3", 42, 3)] {
            let position = Position { next, revision };
            assert_eq!((position.to_string(), text.parse()), (text.to_owned(), Ok(position)));
        }
        for text in ["", "-2", "+1", "1.", ".1", "1.2.3", "a", "9223372036854775808", "1.-1", " 1"]
        {
            assert!(text.parse::<Position>().is_err(), "{text}");
        }
    }
}
