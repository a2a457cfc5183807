//! Positions in lists, as text that callers hand back unread.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};

/// Writes the position after the record of a moment with an id.
pub(super) fn encode(at: DateTime<Utc>, id: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{} {id}", at.timestamp_millis()))
}

/// Reads what [`encode`] wrote for an id of a kind, and refuses everything else.
pub(super) fn decode<I>(text: &str) -> Result<(DateTime<Utc>, I), &'static str>
where
    I: TryFrom<String>,
{
    decoded(text)
        .filter(|(at, id)| encode(*at, id) == text)
        .and_then(|(at, id)| Some((at, I::try_from(id).ok()?)))
        .ok_or("must be a next_cursor from an earlier answer")
}

fn decoded(text: &str) -> Option<(DateTime<Utc>, String)> {
    let plain = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let (millis, id) = plain.split_once(' ')?;
    Some((DateTime::from_timestamp_millis(millis.parse().ok()?)?, id.to_owned()))
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
    fn what_was_not_issued_is_refused() {
        let padded = URL_SAFE_NO_PAD.encode("+12 chat");
        let operator = URL_SAFE_NO_PAD.encode(r#"12 {"$ne":null}"#);
        for text in ["", "x", "{}", "MTIz", &padded, &operator] {
            assert!(decode::<ChatId>(text).is_err(), "{text}");
        }
    }
}
