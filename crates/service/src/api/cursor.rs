//! Cursors of lists, as opaque text.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use persistence::ResumePointCursor;

const NOT_ISSUED: &str = "must be a next_cursor of an earlier response";

/// Encodes the position after a record, given by its time and id.
pub(super) fn encode(at: DateTime<Utc>, id: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{} {id}", at.timestamp_millis()))
}

/// Decodes what [`encode`] wrote, and refuses everything else.
pub(super) fn decode<I>(text: &str) -> Result<(DateTime<Utc>, I), &'static str>
where
    I: TryFrom<String>,
{
    pair(text)
        .and_then(|(at, id)| Some((DateTime::from_timestamp_millis(at.parse().ok()?)?, id)))
        // Other texts may decode to the same values, such as `+12` for `12`.
        .filter(|(at, id)| encode(*at, id) == text)
        .and_then(|(at, id)| Some((at, I::try_from(id).ok()?)))
        .ok_or(NOT_ISSUED)
}

/// Encodes the position after a resume point.
pub(super) fn encode_point(ResumePointCursor { turn, sequence }: ResumePointCursor) -> String {
    URL_SAFE_NO_PAD.encode(format!("{turn} {sequence}"))
}

/// Decodes what [`encode_point`] wrote, and refuses everything else.
pub(super) fn decode_point(text: &str) -> Result<ResumePointCursor, &'static str> {
    pair(text)
        .and_then(|(turn, sequence)| {
            Some(ResumePointCursor { turn: turn.parse().ok()?, sequence: sequence.parse().ok()? })
        })
        .filter(|cursor| encode_point(*cursor) == text)
        .ok_or(NOT_ISSUED)
}

fn pair(text: &str) -> Option<(String, String)> {
    let plain = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let (first, second) = plain.split_once(' ')?;
    Some((first.to_owned(), second.to_owned()))
}

#[cfg(test)]
mod tests {
    use records::{CallId, ChatId};

    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let at = DateTime::from_timestamp_millis(1_759_399_200_123).unwrap();
        let id = ChatId::parse("chat_abc123").unwrap();
        assert_eq!(decode(&encode(at, id.as_str())), Ok((at, id)));
        let id = CallId::parse("a call with spaces").unwrap();
        assert_eq!(decode(&encode(at, id.as_str())), Ok((at, id)));
    }

    #[test]
    fn the_cursor_of_a_resume_point_comes_back_as_it_was() {
        let cursor = ResumePointCursor { turn: u64::MAX, sequence: 0 };
        assert_eq!(decode_point(&encode_point(cursor)), Ok(cursor));
        for text in ["", "x", &URL_SAFE_NO_PAD.encode("+1 2"), &URL_SAFE_NO_PAD.encode("1 2 3")] {
            assert!(decode_point(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_was_not_issued_is_refused() {
        let padded = URL_SAFE_NO_PAD.encode("+12 chat");
        let operator = URL_SAFE_NO_PAD.encode(r#"12 {"$ne":null}"#);
        for text in ["", "x", "{}", "MTIz", &padded, &operator] {
            assert!(decode::<ChatId>(text).is_err(), "{text}");
        }
    }
}
