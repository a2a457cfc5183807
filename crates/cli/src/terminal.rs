//! Text of callers on a terminal, without the characters that would control the terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Writes the characters that control a terminal as JSON escapes, in a text that is JSON.
///
/// The JSON keeps its values: such characters are only in its strings.
pub(crate) fn safe_json(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_invisible(c) && !matches!(c, '\n' | '\r' | '\t'))
}

/// Writes the characters that control a terminal as escapes, in a text of several lines.
pub(crate) fn safe_text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_invisible(c) && !matches!(c, '\n' | '\t'))
}

/// Writes the characters that control a terminal as escapes, in any text; the result is one line.
pub(crate) fn safe_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_invisible)
}

fn escaped(text: &str, is_refused: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_refused) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_refused(character) {
            // Writing to a string cannot fail.
            let _ = write!(safe, "\\u{:04x}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

/// Returns whether a character controls the terminal, or the direction or the lines of a text.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn json_keeps_its_values_without_characters_that_control_a_terminal() {
        let value =
            json!({ "a": "\u{1b}[31m\u{9b}31m\u{7f}\u{85}\u{202e}\u{2028} é 日本", "b": [1] });
        let text = format!("{value}\n");
        let safe = safe_json(&text);
        assert!(!safe.trim_end().contains(is_invisible), "{safe:?}");
        assert_eq!(serde_json::from_str::<Value>(&safe).unwrap(), value);
        assert!(matches!(safe_json("{\"a\":\"é\"}\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(safe_line("a\r\n\u{9b}b"), "a\\u000d\\u000a\\u009bb");
    }
}
