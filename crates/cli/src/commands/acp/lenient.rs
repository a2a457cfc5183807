use records::Limits;
use records::json::{self, ParseError};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Parses a message of another program, and replaces in it what the store cannot keep: it was said all the same.
///
/// Half a character and the NUL of a key become U+FFFD; a number that would be rounded, and what is nested too deeply, become
/// text. Of a field that is there twice, the last one counts.
pub(super) fn parse(line: &[u8]) -> Result<Value, ParseError> {
    let mut value = match json::parse(line) {
        Ok(value) => value,
        Err(error) => {
            let Ok(text) = str::from_utf8(line) else { return Err(error) };
            match serde_json::from_str(&mended(text)) {
                Ok(value) => value,
                Err(_) => return Err(error),
            }
        }
    };
    flatten(&mut value, 0);
    Ok(value)
}

/// Returns JSON without halves of characters, and with numbers that would be rounded as text.
fn mended(text: &str) -> String {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_in_string = false;
    while let Some(first) = rest.chars().next() {
        let length = if is_in_string && first == '\\' {
            escape(rest)
        } else if !is_in_string && (first == '-' || first.is_ascii_digit()) {
            let is_of_number = |it: char| it.is_ascii_alphanumeric() || "+-.".contains(it);
            rest.find(|it| !is_of_number(it)).unwrap_or(rest.len())
        } else {
            is_in_string ^= first == '"';
            first.len_utf8()
        };
        let token;
        (token, rest) = rest.split_at(length);
        if is_in_string && unit(token).is_some_and(|unit| is_surrogate(unit) && length == 6) {
            mended.push(char::REPLACEMENT_CHARACTER);
        } else if !is_in_string && is_rounded(token) {
            mended.extend(["\"", token, "\""]);
        } else {
            mended.push_str(token);
        }
    }
    mended
}

/// Returns the length of the escape with which a text begins; two that are one character are one escape.
fn escape(text: &str) -> usize {
    let second = || unit(text.get(6..)?);
    let length = match unit(text) {
        Some(0xD800..=0xDBFF) if matches!(second(), Some(0xDC00..=0xDFFF)) => 12,
        Some(_) => 6,
        None => 2,
    };
    if text.is_char_boundary(length) { length } else { 1 }
}

/// Returns the unit of UTF-16 that the escape stands for with which a text begins.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

fn is_surrogate(unit: u16) -> bool {
    matches!(unit, 0xD800..=0xDFFF)
}

/// Returns whether a token is a number that cannot be stored as it is.
fn is_rounded(token: &str) -> bool {
    token.starts_with(|it: char| it == '-' || it.is_ascii_digit())
        && serde_json::from_str::<IgnoredAny>(token).is_ok()
        && json::parse(token.as_bytes()).is_err()
}

/// Turns what is nested too deeply into text, and removes NUL from keys.
fn flatten(value: &mut Value, depth: usize) {
    // What is stored of a message has up to so many levels around it.
    const AROUND: usize = 16;
    match value {
        Value::Array(_) | Value::Object(_) if depth > Limits::NESTING - AROUND => {
            *value = value.to_string().into();
        }
        Value::Array(items) => items.iter_mut().for_each(|item| flatten(item, depth + 1)),
        Value::Object(fields) => {
            if fields.keys().any(|key| key.contains('\0')) {
                let mend = |(key, value): (String, Value)| (key.replace('\0', "\u{FFFD}"), value);
                *fields = std::mem::take(fields).into_iter().map(mend).collect();
            }
            fields.values_mut().for_each(|field| flatten(field, depth + 1));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(text: &str) -> Value {
        let value = parse(text.as_bytes()).unwrap();
        json::measure(&value).unwrap();
        value
    }

    #[test]
    fn what_can_be_stored_is_unchanged() {
        let text =
            r#"{"a":["\ud83e\udd80 \\ud83e \"\u00e4",-1.5e3,{"b":null}],"-1":9223372036854775807}"#;
        assert_eq!(parsed(text), serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(mended(text), text);
    }

    #[test]
    fn what_cannot_be_stored_is_replaced() {
        for (text, expected) in [
            (
                r#"["\ud83e","\udd80x","\ud83e\u0041","\\ud83e"]"#,
                json!(["�", "�x", "�A", "\\ud83e"]),
            ),
            (
                r#"{"n":18446744073709551615,"m":-1e-400}"#,
                json!({"n": "18446744073709551615", "m": "-1e-400"}),
            ),
            (r"[0.1234567890123456789,1]", json!(["0.1234567890123456789", 1])),
            (r#"{"a":1,"a":2}"#, json!({"a": 2})),
            (r#"{"a\u0000b":1}"#, json!({"a\u{FFFD}b": 1})),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
        let deep = "[".repeat(100) + &"]".repeat(100);
        let mut value = &parsed(&deep);
        while let Some(items) = value.as_array() {
            value = &items[0];
        }
        assert_eq!(*value, "[".repeat(51) + &"]".repeat(51));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in
            ["{", "[1,]", r#"{"a":1-2}"#, r#"["\u12"]"#, r#"["\ud83e\u12"]"#, "\"\\", "[01]", "1e"]
        {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"\"\xff\"").is_err());
    }
}
