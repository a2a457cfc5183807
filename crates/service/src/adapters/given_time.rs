//! The times that clients give their messages and calls.

use chrono::{DateTime, Datelike as _, Utc};

/// Reads a time; `None` if the text is none, or the zero of Go, which its programs send if they have none.
pub(super) fn read(text: &str) -> Option<DateTime<Utc>> {
    Some(DateTime::parse_from_rfc3339(text).ok()?.to_utc()).filter(is_given)
}

/// Returns whether a time is another one than the zero of Go.
pub(super) fn is_given(time: &DateTime<Utc>) -> bool {
    time.year() > 1
}

/// Returns a text as a time in UTC, as it is if it is one.
pub(super) fn in_utc(text: String) -> Option<String> {
    let time = read(&text)?;
    Some(if text.ends_with('Z') { text } else { crate::wire::Time(time).to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_are_shown_and_in_utc() {
        for (given, expected) in [
            ("2026-10-02T10:00:05.5Z", Some("2026-10-02T10:00:05.5Z")),
            ("2026-10-02T10:00:05+05:30", Some("2026-10-02T04:30:05.000Z")),
            ("0001-01-01T00:00:00Z", None),
            ("2026-02-30T10:00:05Z", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(in_utc(given.to_owned()).as_deref(), expected, "{given}");
        }
    }
}
