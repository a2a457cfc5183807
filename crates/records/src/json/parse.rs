use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use super::limits::Limits;
use super::measure::pointer_to;
use crate::Invalid;

/// The reason why a text is refused as JSON.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// The text is not JSON.
    #[error("not valid JSON")]
    Syntax(#[source] serde_json::Error),
    /// The text is JSON that cannot be stored without a loss.
    #[error(transparent)]
    Lossy(#[from] Invalid),
}

/// Parses JSON without silent losses.
///
/// Refuses what other parsers round or drop: integers beyond 64 bits, floats with more than
/// 17 significant digits or that would become zero, repeated keys, and nesting deeper than
/// [`Limits::NESTING`].
pub fn parse(text: &[u8]) -> Result<Value, ParseError> {
    let value = serde_json::from_slice(text).map_err(|error| {
        if error.to_string().contains("recursion limit") {
            return too_deep(String::new()).into();
        }
        ParseError::Syntax(error)
    })?;
    Scanner { text, at: 0, frames: Vec::new() }.scan()?;
    Ok(value)
}

fn too_deep(pointer: String) -> Invalid {
    Invalid::value(pointer, format!("nested deeper than {} levels", Limits::NESTING))
}

/// Scans a text that is known to be valid JSON.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    frames: Vec<Frame<'a>>,
}

enum Frame<'a> {
    Array { index: usize },
    Object { keys: HashSet<Cow<'a, str>>, key: Cow<'a, str>, expects_key: bool },
}

impl<'a> Scanner<'a> {
    fn scan(mut self) -> Result<(), Invalid> {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b'[' => self.open(Frame::Array { index: 0 })?,
                b'{' => self.open(Frame::Object {
                    keys: HashSet::new(),
                    key: Cow::Borrowed(""),
                    expects_key: true,
                })?,
                b']' | b'}' => {
                    self.frames.pop();
                    self.at += 1;
                }
                b',' => self.next_item(),
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    fn open(&mut self, frame: Frame<'a>) -> Result<(), Invalid> {
        // The levels of a request body around a value, such as its list of messages, do not count.
        const ENVELOPE: usize = 4;
        if self.frames.len() == Limits::NESTING + ENVELOPE {
            return Err(too_deep(self.pointer()));
        }
        self.frames.push(frame);
        self.at += 1;
        Ok(())
    }

    fn next_item(&mut self) {
        match self.frames.last_mut() {
            Some(Frame::Array { index }) => *index += 1,
            Some(Frame::Object { expects_key, .. }) => *expects_key = true,
            None => {}
        }
        self.at += 1;
    }

    fn string(&mut self) -> Result<(), Invalid> {
        let literal = self.string_literal();
        self.at += literal.len();
        let Some(Frame::Object { keys, key, expects_key }) = self.frames.last_mut() else {
            return Ok(());
        };
        if !std::mem::take(expects_key) {
            return Ok(());
        }
        *key = decode(literal);
        if keys.insert(key.clone()) {
            return Ok(());
        }
        Err(Invalid::value(self.pointer(), "the key occurs twice"))
    }

    /// Returns the string literal that begins here, with its quotes.
    fn string_literal(&self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let mut end = 1;
        while end < rest.len() && rest[end] != b'"' {
            end += if rest[end] == b'\\' { 2 } else { 1 };
        }
        &rest[..rest.len().min(end + 1)]
    }

    fn number(&mut self) -> Result<(), Invalid> {
        let rest = &self.text[self.at..];
        let is_part = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let length = rest.iter().take_while(|b| is_part(b)).count();
        let literal = String::from_utf8_lossy(&rest[..length]);
        self.at += length;
        match inexact_reason(&literal) {
            Some(detail) => Err(Invalid::value(self.pointer(), format!("{literal} {detail}"))),
            None => Ok(()),
        }
    }

    fn pointer(&self) -> String {
        self.frames
            .iter()
            .map(|frame| match frame {
                Frame::Array { index } => format!("/{index}"),
                Frame::Object { key, .. } => pointer_to(key),
            })
            .collect()
    }
}

fn decode(literal: &[u8]) -> Cow<'_, str> {
    let inner = &literal[1..literal.len() - 1];
    match std::str::from_utf8(inner) {
        Ok(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
        _ => Cow::Owned(serde_json::from_slice(literal).unwrap_or_default()),
    }
}

/// Returns why a number cannot be stored exactly; `None` if it can.
fn inexact_reason(literal: &str) -> Option<&'static str> {
    let mantissa = literal.split(['e', 'E']).next().unwrap_or(literal);
    if !literal.contains(['.', 'e', 'E']) {
        let fits = literal.parse::<i64>().is_ok();
        return (!fits).then_some("does not fit in 64 bits with a sign");
    }
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.len() > 17 {
        return Some("has more digits than a 64-bit float holds");
    }
    let vanishes =
        !significant.is_empty() && literal.parse::<f64>().is_ok_and(|number| number == 0.0);
    vanishes.then_some("is too small for a 64-bit float")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer_of_refusal(text: &str) -> String {
        match parse(text.as_bytes()) {
            Err(ParseError::Lossy(invalid)) => invalid.pointer,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn numbers_that_would_be_rounded_are_refused_with_their_pointer() {
        for number in ["9223372036854775808", "123456789012345678901234567890", "1e-400"] {
            let text = format!(r#"{{"a": [0, {{"b\"": {number}}}]}}"#);
            assert_eq!(pointer_of_refusal(&text), "/a/1/b\"", "{number}");
        }
        assert_eq!(pointer_of_refusal("[0.1234567890123456789]"), "/0");
    }

    #[test]
    fn exact_numbers_are_accepted() {
        for number in ["0", "-9223372036854775808", "0.30000000000000004", "1e21", "-0.0", "0.000"]
        {
            assert!(parse(number.as_bytes()).is_ok(), "{number}");
        }
        assert!(parse(b"1e400").is_err());
    }

    #[test]
    fn repeated_keys_are_refused_in_any_notation() {
        assert_eq!(pointer_of_refusal(r#"{"x": {"a": 1, "\u0061": 2}}"#), "/x/a");
        assert!(parse(br#"[{"a": "a"}, {"a": {"a": 1}}]"#).is_ok());
    }

    #[test]
    fn deep_nesting_is_refused_by_our_own_limit() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(parse(deep(60).as_bytes()).is_ok());
        assert!(matches!(parse(deep(100).as_bytes()), Err(ParseError::Lossy(_))));
        assert!(matches!(parse(deep(10_000).as_bytes()), Err(ParseError::Lossy(_))));
    }

    #[test]
    fn broken_text_is_a_syntax_error() {
        for text in ["", "{", "[1,]", "\"\\ud800\"", "NaN"] {
            assert!(matches!(parse(text.as_bytes()), Err(ParseError::Syntax(_))), "{text}");
        }
    }
}
