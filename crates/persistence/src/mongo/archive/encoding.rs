//! Documents as JSON that tells all their types apart.
//!
//! Texts, booleans, null, lists and objects are those of JSON, an integer is one of 64 bits, and a number with a fraction or an
//! exponent is a double. Every other value is an object with one key that begins with `$`. A key of a document that begins with
//! `$` gets one more, so that caller JSON is never taken for such a value.

use bson::raw::RawArrayBuf;
use bson::spec::BinarySubtype;
use bson::{Binary, DateTime, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};
use records::JsonObject;
use serde_json::{Number, Value, json};

use crate::mongo::engine::json::key;

const INT32: &str = "$int32";
const DOUBLE: &str = "$double";
const DATE: &str = "$date";
const BINARY: &str = "$binary";

/// The reason why a value cannot be converted.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotEncoded {
    #[error("malformed BSON")]
    Malformed(#[from] bson::error::Error),
    #[error("a value of a type that is never stored")]
    Type,
    #[error("{0} is not the value of a document")]
    Value(String),
}

/// Converts a stored document to JSON.
pub(super) fn encode(document: &RawDocument) -> Result<Value, NotEncoded> {
    let mut object = JsonObject::new();
    for element in document {
        let (key, value) = element?;
        let key = key.as_str();
        let escape = if key.starts_with('$') { "$" } else { "" };
        object.insert(format!("{escape}{key}"), encode_value(value)?);
    }
    Ok(object.into())
}

fn encode_value(value: RawBsonRef<'_>) -> Result<Value, NotEncoded> {
    Ok(match value {
        RawBsonRef::Null => Value::Null,
        RawBsonRef::Boolean(flag) => flag.into(),
        RawBsonRef::String(text) => text.into(),
        RawBsonRef::Int64(number) => number.into(),
        RawBsonRef::Int32(number) => json!({ INT32: number }),
        RawBsonRef::Double(number) => Number::from_f64(number)
            .map_or_else(|| json!({ DOUBLE: number.to_string() }), Value::Number),
        RawBsonRef::DateTime(time) => json!({ DATE: time.timestamp_millis() }),
        RawBsonRef::Binary(binary) => {
            json!({ BINARY: [u8::from(binary.subtype), hex::encode(binary.bytes)] })
        }
        RawBsonRef::Array(array) => {
            let items = array.into_iter().map(|item| encode_value(item?));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        RawBsonRef::Document(document) => encode(document)?,
        _ => return Err(NotEncoded::Type),
    })
}

/// Converts JSON back to the document.
pub(super) fn decode(object: &JsonObject) -> Result<RawDocumentBuf, NotEncoded> {
    let mut document = RawDocumentBuf::new();
    for (name, value) in object {
        let is_wrong = name.contains('\0') || name.starts_with('$') && !name.starts_with("$$");
        if is_wrong {
            return Err(NotEncoded::Value(format!("the key {name:?}")));
        }
        let name = name.strip_prefix('$').unwrap_or(name);
        document.append(key(name), decode_value(value)?);
    }
    Ok(document)
}

fn decode_value(value: &Value) -> Result<RawBson, NotEncoded> {
    Ok(match value {
        Value::Null => RawBson::Null,
        Value::Bool(flag) => RawBson::Boolean(*flag),
        Value::String(text) => RawBson::String(text.clone()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => RawBson::Int64(integer),
            (None, Some(double)) if number.is_f64() => RawBson::Double(double),
            _ => return Err(NotEncoded::Value(number.to_string())),
        },
        Value::Array(items) => {
            let mut array = RawArrayBuf::new();
            for item in items {
                array.push(decode_value(item)?);
            }
            RawBson::Array(array)
        }
        Value::Object(object) => match tagged(object) {
            Some((tag, value)) => decode_tagged(tag, value)
                .ok_or_else(|| NotEncoded::Value(json!(object).to_string()))?,
            None => RawBson::Document(decode(object)?),
        },
    })
}

/// Returns the tag and the value of an object that stands for a value of another type.
fn tagged(object: &JsonObject) -> Option<(&str, &Value)> {
    let (tag, value) = object.iter().next().filter(|_| object.len() == 1)?;
    (tag.starts_with('$') && !tag.starts_with("$$")).then_some((tag.as_str(), value))
}

fn decode_tagged(tag: &str, value: &Value) -> Option<RawBson> {
    Some(match tag {
        INT32 => RawBson::Int32(i32::try_from(value.as_i64()?).ok()?),
        DOUBLE => RawBson::Double(value.as_str()?.parse().ok()?),
        DATE => RawBson::DateTime(DateTime::from_millis(value.as_i64()?)),
        BINARY => {
            let [subtype, bytes] = value.as_array()?.as_slice() else { return None };
            let subtype = BinarySubtype::from(u8::try_from(subtype.as_u64()?).ok()?);
            RawBson::Binary(Binary { subtype, bytes: hex::decode(bytes.as_str()?).ok()? })
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use bson::{Bson, doc};

    use super::*;

    fn again(document: &RawDocumentBuf) -> RawDocumentBuf {
        let text = encode(document).unwrap().to_string();
        let Value::Object(object) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        decode(&object).unwrap()
    }

    #[test]
    fn every_value_that_is_stored_comes_back_with_its_type() {
        let binary = Binary { subtype: BinarySubtype::Generic, bytes: vec![0, 255] };
        let document = doc! {
            "a": 1_i32, "b": 1_i64, "c": 1.0, "d": -0.0, "e": f64::NAN, "f": f64::INFINITY, "g": 1e300,
            "h": Bson::Null, "i": true, "j": "text", "k": DateTime::from_millis(-1), "l": binary,
            "m": [1_i32, { "n": [[]] }], "": i64::MIN,
        };
        let raw = RawDocumentBuf::try_from(&document).unwrap();
        assert_eq!(again(&raw).as_bytes(), raw.as_bytes());
    }

    #[test]
    fn caller_json_is_never_taken_for_another_value() {
        let document = doc! {
            "a": { "$date": 1_i64 }, "b": { "$$date": { "$oid": "x" } }, "c": { "$int32": { "$int32": 5_i32 } },
            "$d": { "a.b": 1.5, "$": [] },
        };
        let raw = RawDocumentBuf::try_from(&document).unwrap();
        assert_eq!(again(&raw).as_bytes(), raw.as_bytes());
    }

    #[test]
    fn what_no_document_is_written_as_is_refused() {
        for text in [
            r#"{"a":{"$oid":"x"}}"#,
            r#"{"a":{"$int32":1.5}}"#,
            r#"{"a":{"$binary":["0",""]}}"#,
            r#"{"$a":1}"#,
            r#"{"a":18446744073709551615}"#,
            "{\"a\\u0000\":1}",
        ] {
            let Value::Object(object) = serde_json::from_str(text).unwrap() else { panic!() };
            assert!(decode(&object).is_err(), "{text}");
        }
    }
}
