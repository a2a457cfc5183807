use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::DateTime;
use persistence::Cursor;
use records::ChatId;

/// Writes a position in a list as text that callers hand back unread.
pub(super) fn encode(cursor: &Cursor) -> String {
    let millis = cursor.created_at.timestamp_millis();
    URL_SAFE_NO_PAD.encode(format!("{millis} {}", cursor.chat_id))
}

/// Reads what [`encode`] wrote, and refuses everything else.
pub(super) fn decode(text: &str) -> Result<Cursor, &'static str> {
    decoded(text)
        .filter(|cursor| encode(cursor) == text)
        .ok_or("must be a next_cursor from an earlier answer")
}

fn decoded(text: &str) -> Option<Cursor> {
    let plain = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let (millis, chat_id) = plain.split_once(' ')?;
    Some(Cursor {
        created_at: DateTime::from_timestamp_millis(millis.parse().ok()?)?,
        chat_id: ChatId::parse(chat_id).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let cursor = Cursor {
            created_at: DateTime::from_timestamp_millis(1_759_399_200_123).unwrap(),
            chat_id: ChatId::parse("chat_abc123").unwrap(),
        };
        assert_eq!(decode(&encode(&cursor)), Ok(cursor));
    }

    #[test]
    fn what_was_not_issued_is_refused() {
        let padded = URL_SAFE_NO_PAD.encode("+12 chat");
        let operator = URL_SAFE_NO_PAD.encode(r#"12 {"$ne":null}"#);
        for text in ["", "x", "{}", "MTIz", &padded, &operator] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
