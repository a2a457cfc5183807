//! JSON as the service reads it: it must be what `serde_json` reads, or be refused with a reason.

use std::mem::size_of;

use records::json::{self, Hasher, ParseError};
use serde_json::{Map, Value};

use super::Target;
use crate::fixtures;

pub(super) const TARGET: Target = Target { name: "json", check, seeds };

fn check(bytes: &[u8]) {
    let theirs: Result<Value, _> = serde_json::from_slice(bytes);
    let scanned = json::scan(bytes, &[]);
    match json::parse(bytes) {
        Ok(value) => {
            assert_eq!(theirs.ok().as_ref(), Some(&value), "both parsers agree");
            let scanned = scanned.expect("what is parsed was scanned");
            assert!(heap_bytes(&value) <= scanned.parsed_bytes, "the scan counts all memory");
            check_value(&value);
        }
        Err(ParseError::Syntax(_)) => assert!(theirs.is_err(), "a text that is JSON is read"),
        Err(ParseError::Refused(invalid)) => {
            assert!(scanned.is_err() || json::measure(&theirs.unwrap()).is_err());
            let pointer = invalid.location.to_string();
            assert!(pointer.is_empty() || pointer.starts_with('/'), "{pointer}");
            assert!(!invalid.detail.is_empty());
        }
        Err(ParseError::TooManyValues { limit }) => {
            assert_eq!(limit, json::max_parsed_bytes(bytes.len()));
        }
    }
}

fn check_value(value: &Value) {
    let text = value.to_string();
    let again = json::parse(text.as_bytes()).expect("what was read can be written and read");
    assert_eq!(again, *value);
    assert_eq!(again.to_string(), text);
    let digest = |value: &Value| {
        let mut hasher = Hasher::default();
        hasher.field("value", value);
        hasher.finish()
    };
    assert_eq!(digest(&reversed(value)), digest(value), "the order of keys does not matter");
    let within = Value::Array(vec![value.clone()]);
    assert_ne!(digest(&within), digest(value), "the structure matters");
}

/// Returns a lower bound of the memory that a value takes beside itself.
fn heap_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.capacity(),
        Value::Array(items) => {
            items.capacity() * size_of::<Value>() + items.iter().map(heap_bytes).sum::<usize>()
        }
        Value::Object(fields) => {
            let entry = size_of::<String>() + size_of::<Value>() + 2 * size_of::<usize>();
            let of = |(key, value): (&String, &Value)| entry + key.capacity() + heap_bytes(value);
            fields.iter().map(of).sum()
        }
        _ => 0,
    }
}

/// Returns the same value with the keys of each object in the opposite order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(reversed).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().rev().map(|(key, value)| (key.clone(), reversed(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"a": [1, -2.5e-7, true, null, "\ud83d\ude00 é"], "$oid": {"a.b": ""}}"#,
        r#"{"a": 1, "\u0061": 2}"#,
        r#"["\ud83d", 9223372036854775808, 0.1234567890123456789, 1e-999, -0.0]"#,
    ];
    let own = texts.map(|text| text.as_bytes().to_vec());
    let deep = [60, 64, 70, 130].map(|depth| [vec![b'['; depth], vec![b']'; depth]].concat());
    own.into_iter().chain(deep).chain(fixtures::transcripts()).collect()
}
