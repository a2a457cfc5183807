use std::borrow::Cow;
use std::collections::HashSet;
use std::mem::size_of;

use serde_json::Value;

use super::limits::Limits;
use super::parse_error::ParseError;
use crate::{Invalid, Location, Segment, SizeLimit};

/// The most items of a list that is a field of the outermost object.
#[derive(Debug, Clone, Copy)]
pub struct ListLimit {
    /// The name of the field.
    pub field: &'static str,
    /// The most items.
    pub items: usize,
}

/// What a scan has found out about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scanned {
    /// The most memory that its values take once they are parsed, in bytes.
    pub parsed_bytes: usize,
    /// Whether the outermost object has the field of a [`ListLimit`].
    pub has_list: bool,
}

/// Scans JSON before it is parsed, in one pass that builds nothing.
///
/// Refuses what parsers round or drop: integers beyond 64 bits, floats with more than 17 significant digits
/// or that would become zero, and repeated keys; escapes of half a character (RFC 8259, section 8.2); nesting
/// deeper than [`Limits::NESTING`]; a list with more items than it may have, at the first item beyond; and values
/// that would take more memory than [`max_parsed_bytes`]. A text that is not JSON may pass: parsing refuses it.
pub fn scan(text: &[u8], lists: &[ListLimit]) -> Result<Scanned, ParseError> {
    let max_bytes = max_parsed_bytes(text.len());
    let frames = Vec::new();
    Scanner { text, lists, max_bytes, at: 0, bytes: VALUE_BYTES, has_list: false, frames }.scan()
}

/// Returns the most memory that the values of a text may take once they are parsed, in bytes.
///
/// Together with the text that is three times its size. A short text may exceed that: transcripts of many small messages take more
/// than twenty times theirs.
pub fn max_parsed_bytes(text_bytes: usize) -> usize {
    const MIN: usize = 32 << 20;
    MIN.max(2 * text_bytes)
}

/// The size of a value in a list.
const VALUE_BYTES: usize = size_of::<Value>();
/// The size of an entry of an object: the key, the value, the hash, and the place in the index.
const ENTRY_BYTES: usize = size_of::<String>() + VALUE_BYTES + 4 * size_of::<usize>();
/// The most characters of a number: no exact one needs more.
const MAX_NUMBER_CHARS: usize = 1_000;
/// What the allocator adds to a text.
const ALLOCATION_BYTES: usize = 16;

struct Scanner<'a> {
    text: &'a [u8],
    lists: &'a [ListLimit],
    max_bytes: usize,
    at: usize,
    /// The memory that the values so far take once they are parsed.
    bytes: usize,
    has_list: bool,
    frames: Vec<Frame<'a>>,
}

enum Frame<'a> {
    Array { index: usize, capacity: usize, max: usize },
    Object { keys: HashSet<Cow<'a, str>>, capacity: usize, key: Cow<'a, str>, expects_key: bool },
}

impl<'a> Scanner<'a> {
    fn scan(mut self) -> Result<Scanned, ParseError> {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b't' | b'f' | b'n' => self.word()?,
                b'[' => self.open_array()?,
                b'{' => self.open(Frame::Object {
                    keys: HashSet::new(),
                    capacity: 0,
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
        Ok(Scanned { parsed_bytes: self.bytes, has_list: self.has_list })
    }

    fn open_array(&mut self) -> Result<(), ParseError> {
        let mut max = usize::MAX;
        if let [Frame::Object { key, .. }] = self.frames.as_slice()
            && let Some(limit) = self.lists.iter().find(|limit| limit.field == key)
        {
            max = limit.items;
        }
        self.open(Frame::Array { index: 0, capacity: 0, max })
    }

    fn open(&mut self, frame: Frame<'a>) -> Result<(), ParseError> {
        // The levels of a request body around a value, such as its list of messages, do not count.
        const ENVELOPE: usize = 4;
        self.begin_value()?;
        if self.frames.len() == Limits::NESTING + ENVELOPE {
            let detail = format!("nested deeper than {} levels", Limits::NESTING);
            return Err(Invalid::value(self.location(), detail).into());
        }
        self.frames.push(frame);
        self.at += 1;
        Ok(())
    }

    fn next_item(&mut self) {
        match self.frames.last_mut() {
            Some(Frame::Array { index, .. }) => *index += 1,
            Some(Frame::Object { expects_key, .. }) => *expects_key = true,
            None => {}
        }
        self.at += 1;
    }

    /// Counts a value that begins here, in the list or object around it.
    fn begin_value(&mut self) -> Result<(), ParseError> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        match frame {
            Frame::Array { index, max, .. } if *index >= *max => {
                let detail = format!("must have at most {max} items");
                self.frames.pop();
                Err(Invalid::too_large(SizeLimit::Batch, self.location(), detail).into())
            }
            Frame::Array { index, capacity, .. } => {
                let added = grow(capacity, *index + 1) * VALUE_BYTES;
                self.take(added)
            }
            Frame::Object { keys, capacity, .. } => {
                // An object holds an eighth of its places free.
                let added = grow(capacity, keys.len() * 8 / 7 + 1) * ENTRY_BYTES;
                self.take(added)
            }
        }
    }

    /// Takes memory for what is about to be parsed.
    fn take(&mut self, bytes: usize) -> Result<(), ParseError> {
        self.bytes += bytes;
        if self.bytes > self.max_bytes {
            return Err(ParseError::TooManyValues { limit: self.max_bytes });
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), ParseError> {
        let literal = self.string_literal();
        self.at += literal.len();
        self.take(literal.len() + ALLOCATION_BYTES)?;
        let Some(Frame::Object { keys, key, expects_key, .. }) = self.frames.last_mut() else {
            return self.text_value(literal);
        };
        if !std::mem::take(expects_key) {
            return self.text_value(literal);
        }
        *key = decode(literal);
        let is_new = keys.insert(key.clone());
        self.has_list |=
            self.frames.len() == 1 && self.lists.iter().any(|limit| self.is_at(limit.field));
        if !is_new {
            return Err(Invalid::value(self.location(), "the key occurs twice").into());
        }
        self.check_characters(literal)
    }

    fn text_value(&mut self, literal: &[u8]) -> Result<(), ParseError> {
        self.begin_value()?;
        self.check_characters(literal)
    }

    fn check_characters(&self, literal: &[u8]) -> Result<(), ParseError> {
        let Some(escape) = half_of_a_character(literal) else { return Ok(()) };
        let detail =
            format!("{escape} is half of a character; send both halves, or cut the text elsewhere");
        Err(Invalid::value(self.location(), detail).into())
    }

    /// Tells whether the innermost object is at a key.
    fn is_at(&self, name: &str) -> bool {
        matches!(self.frames.last(), Some(Frame::Object { key, .. }) if key == name)
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

    fn number(&mut self) -> Result<(), ParseError> {
        self.begin_value()?;
        let rest = &self.text[self.at..];
        let is_part = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let length = rest.iter().take_while(|b| is_part(b)).count();
        let literal = String::from_utf8_lossy(&rest[..length.min(MAX_NUMBER_CHARS + 1)]);
        self.at += length;
        match inexact_reason(&literal) {
            Some(detail) => {
                Err(Invalid::value(self.location(), format!("{literal} {detail}")).into())
            }
            None => Ok(()),
        }
    }

    /// Passes `true`, `false` or `null`.
    fn word(&mut self) -> Result<(), ParseError> {
        self.begin_value()?;
        let rest = &self.text[self.at..];
        self.at += rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        Ok(())
    }

    fn location(&self) -> Location {
        self.frames
            .iter()
            .map(|frame| match frame {
                Frame::Array { index, .. } => Segment::Index(*index),
                Frame::Object { key, .. } => Segment::key(key.clone().into_owned()),
            })
            .collect()
    }
}

/// Grows a capacity as collections do, until it holds `items`; returns by how much.
fn grow(capacity: &mut usize, items: usize) -> usize {
    let before = *capacity;
    while *capacity < items {
        *capacity = (*capacity * 2).max(4);
    }
    *capacity - before
}

fn decode(literal: &[u8]) -> Cow<'_, str> {
    // The quote at the end is missing only in a text that is not JSON.
    let inner = literal.get(1..literal.len() - 1).unwrap_or_default();
    match std::str::from_utf8(inner) {
        Ok(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
        _ => Cow::Owned(serde_json::from_slice(literal).unwrap_or_default()),
    }
}

/// Returns the first escape of a surrogate that is not one of a pair, such as `\\ud83d`, and so is no text in UTF-8.
///
/// Clients send one when they cut a text between the halves of a character.
fn half_of_a_character(literal: &[u8]) -> Option<Cow<'_, str>> {
    let mut rest = literal;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        rest = &rest[at..];
        let passed = match (code_unit(rest), code_unit(rest.get(6..).unwrap_or_default())) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => return Some(String::from_utf8_lossy(&rest[..6])),
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        rest = rest.get(passed..).unwrap_or_default();
    }
    None
}

/// Returns the code unit of UTF-16 that an escape at the beginning of a text names.
fn code_unit(text: &[u8]) -> Option<u16> {
    let digits = text.get(..6)?.strip_prefix(b"\\u")?;
    // A number may have a sign, which an escape may not.
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u16::from_str_radix(digits, 16).ok()
}

/// Returns why a number cannot be stored exactly; `None` if it can.
fn inexact_reason(literal: &str) -> Option<&'static str> {
    if literal.len() > MAX_NUMBER_CHARS {
        return Some("has too many digits");
    }
    let mantissa = literal.split(['e', 'E']).next().unwrap_or(literal);
    if !literal.contains(['.', 'e', 'E']) {
        // Other texts, such as `-`, are not numbers: parsing refuses them.
        let digits = literal.strip_prefix('-').unwrap_or(literal);
        let is_integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let fits = literal.parse::<i64>().is_ok();
        return (is_integer && !fits).then_some("does not fit in 64 bits with a sign");
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

    const MESSAGES: [ListLimit; 1] = [ListLimit { field: "messages", items: 1_000 }];

    #[test]
    fn a_list_is_refused_at_its_first_item_beyond_the_limit() {
        let messages = |count| format!(r#"{{"messages": [{}"#, vec!["{}"; count].join(","));
        let refused = scan(messages(1_001).as_bytes(), &MESSAGES).unwrap_err();
        let ParseError::Refused(invalid) = refused else { panic!("{refused:?}") };
        assert_eq!((invalid.location, invalid.detail.contains("1000")), ("/messages".into(), true));
        assert!(scan(messages(1_000).as_bytes(), &MESSAGES).unwrap().has_list);
        let elsewhere = format!(r#"{{"a": {}]}}}}"#, messages(1_001));
        assert!(!scan(elsewhere.as_bytes(), &MESSAGES).unwrap().has_list);
    }

    #[test]
    fn many_values_are_refused_before_they_are_parsed() {
        for (open, item, close) in
            [("[", "0,", "0]"), ("[", "{},", "0]"), ("[", r#""","#, "0]"), ("[", "[[0]],", "0]")]
        {
            let text = format!("{open}{}{close}", item.repeat((4 << 20) / item.len()));
            let refused = scan(text.as_bytes(), &[]);
            assert!(matches!(refused, Err(ParseError::TooManyValues { .. })), "{item}");
        }
        let keys: Vec<_> = (0..400_000).map(|key| format!(r#""{key}":0,"#)).collect();
        let keys = keys.concat();
        let refused = scan(format!(r#"{{{keys}"a":0}}"#).as_bytes(), &[]);
        assert!(matches!(refused, Err(ParseError::TooManyValues { .. })));
    }

    #[test]
    fn long_texts_and_short_lists_are_accepted() {
        let text = format!(r#"{{"text": "{}"}}"#, "x".repeat(8 << 20));
        assert!(scan(text.as_bytes(), &[]).unwrap().parsed_bytes < text.len() + (1 << 10));
        let numbers = format!("[{}0]", "0.12345,".repeat(50_000));
        assert!(scan(numbers.as_bytes(), &[]).is_ok());
    }

    #[test]
    fn half_of_a_character_is_refused_where_it_is() {
        for (escapes, half) in [
            (r"\ud83d", r"\ud83d"),
            (r"\uDE00", r"\uDE00"),
            (r"\ud83d and more", r"\ud83d"),
            (r"\ud83d\ud83d\ude00", r"\ud83d"),
            (r"\ud83d\ude00\ude00", r"\ude00"),
            (r"\\\ud83d\n\ude00", r"\ud83d"),
        ] {
            let text = format!(r#"{{"a": ["", "x{escapes}y"]}}"#);
            let refused = scan(text.as_bytes(), &[]).unwrap_err();
            let ParseError::Refused(invalid) = refused else { panic!("{text}: {refused:?}") };
            assert_eq!(invalid.location.to_string(), "/a/1", "{text}");
            assert!(invalid.detail.starts_with(half), "{text}: {}", invalid.detail);
            assert!(scan(format!(r#"{{"{escapes}": 1}}"#).as_bytes(), &[]).is_err(), "{escapes}");
        }
        for whole in [r"\ud83d\ude00", r"\\ud83d", r"\u00e9\u4e2d\\", r"\u+123", r"\u12"] {
            assert!(scan(format!(r#"["{whole}"]"#).as_bytes(), &[]).is_ok(), "{whole}");
        }
    }

    #[test]
    fn any_text_can_be_scanned() {
        for text in ["\"", "\"\\", "\"\\u", "\"\\ud8", "{\"", "]]}", "-", "1-2", "{\"a", ",,", "[-"]
        {
            let _ = scan(text.as_bytes(), &MESSAGES);
        }
    }
}
