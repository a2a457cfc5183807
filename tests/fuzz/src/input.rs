//! Reads structured inputs from bytes.

use resume::dialect::{self, Dialect};
use serde_json::Value;

/// Takes the first byte; 0 if there is none.
pub(crate) fn byte(bytes: &[u8]) -> (usize, &[u8]) {
    bytes.split_first().map_or((0, bytes), |(first, rest)| (usize::from(*first), rest))
}

/// Splits bytes at the first line break.
pub(crate) fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    end.map_or((bytes, &[]), |end| (&bytes[..end], &bytes[end + 1..]))
}

/// Reads JSON as the service reads it; `None` if it is refused.
pub(crate) fn json(bytes: &[u8]) -> Option<Value> {
    records::json::parse(bytes).ok()
}

/// Reads a list, or an object with the lists `messages` and `system`.
pub(crate) fn transcript(bytes: &[u8]) -> Option<(Vec<Value>, Vec<Value>)> {
    match json(bytes)? {
        Value::Array(messages) => Some((Vec::new(), messages)),
        Value::Object(mut whole) => {
            let mut list = |name: &str| match whole.get_mut(name).map(Value::take) {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            };
            Some((list("system"), list("messages")))
        }
        _ => None,
    }
}

/// Returns the dialect that a number chooses.
pub(crate) fn dialect(number: usize) -> &'static dyn Dialect {
    let dialects: Vec<_> = dialect::all().collect();
    dialects[number % dialects.len()]
}
