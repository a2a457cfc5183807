//! Converts caller JSON to BSON and back, literally.
//!
//! The driver's own conversions interpret keys such as `$oid` and `$date` as extended JSON and
//! change or refuse their values. These conversions do not look at keys.

use std::borrow::Cow;

use bson::raw::{CStr, RawArrayBuf};
use bson::{Bson, Document, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};
use records::JsonObject;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};

/// Converts a value that was measured before, so its integers fit.
pub(crate) fn to_bson(value: &Value) -> Bson {
    match value {
        Value::Null => Bson::Null,
        Value::Bool(flag) => Bson::Boolean(*flag),
        Value::Number(number) => to_number(number),
        Value::String(text) => Bson::String(text.clone()),
        Value::Array(items) => Bson::Array(items.iter().map(to_bson).collect()),
        Value::Object(object) => Bson::Document(to_document(object)),
    }
}

/// Converts an integer to an integer, and any other number to a double.
fn to_number<B: From<i64> + From<f64>>(number: &Number) -> B {
    number.as_i64().map_or_else(|| number.as_f64().unwrap_or(f64::NAN).into(), B::from)
}

/// Converts an object that was measured before.
pub(crate) fn to_document(object: &JsonObject) -> Document {
    object.iter().map(|(key, value)| (key.clone(), to_bson(value))).collect()
}

/// Appends a value that was measured before to a document.
pub(crate) fn append(document: &mut RawDocumentBuf, key: &CStr, value: &Value) {
    match value {
        // A string, the common case, is written without a copy.
        Value::String(text) => document.append(key, text.as_str()),
        value => document.append(key, to_raw(value)),
    }
}

fn to_raw(value: &Value) -> RawBson {
    match value {
        Value::Null => RawBson::Null,
        Value::Bool(flag) => RawBson::Boolean(*flag),
        Value::Number(number) => to_number(number),
        Value::String(text) => RawBson::String(text.clone()),
        Value::Array(items) => {
            let mut array = RawArrayBuf::new();
            for item in items {
                array.push(to_raw(item));
            }
            RawBson::Array(array)
        }
        Value::Object(object) => RawBson::Document(to_raw_document(object)),
    }
}

/// Converts an object that was measured before to a raw document.
pub(crate) fn to_raw_document(object: &JsonObject) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    for (name, value) in object {
        append(&mut document, key(name), value);
    }
    document
}

/// Returns a key for BSON. Measuring a value refuses keys with a NUL.
#[expect(clippy::expect_used, reason = "every stored value was measured before")]
pub(crate) fn key(name: &str) -> &CStr {
    name.try_into().expect("a key without a NUL")
}

/// The reason why stored BSON cannot be read as JSON.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotJson {
    /// The bytes are not BSON.
    #[error("malformed BSON")]
    Malformed(#[from] bson::error::Error),
    /// JSON has no type for the value.
    #[error("stored BSON {0} is not JSON")]
    Type(&'static str),
}

/// Converts stored BSON to JSON.
pub(crate) fn to_value(bson: RawBsonRef<'_>) -> Result<Value, NotJson> {
    Ok(match bson {
        RawBsonRef::Null => Value::Null,
        RawBsonRef::Boolean(flag) => Value::Bool(flag),
        RawBsonRef::Int32(number) => number.into(),
        RawBsonRef::Int64(number) => number.into(),
        RawBsonRef::Double(number) => {
            Value::Number(Number::from_f64(number).ok_or(NotJson::Type("NaN or infinity"))?)
        }
        RawBsonRef::String(text) => Value::String(text.to_owned()),
        RawBsonRef::Array(array) => {
            let items = array.into_iter().map(|item| to_value(item?));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        RawBsonRef::Document(document) => Value::Object(to_object(document)?),
        _ => return Err(NotJson::Type("value of another kind")),
    })
}

/// Converts a stored document to a JSON object.
pub(crate) fn to_object(document: &RawDocument) -> Result<JsonObject, NotJson> {
    let mut object = JsonObject::new();
    for element in document {
        let (key, value) = element?;
        object.insert(key.as_str().to_owned(), to_value(value)?);
    }
    Ok(object)
}

/// Caller JSON as a field of a stored struct: written and read literally, whatever its keys are.
///
/// It never passes through the `Serialize` or `Deserialize` of `Value`, `Bson` or `Document`: it is handed
/// to the driver, and taken from it, as raw BSON.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Json<T>(pub(crate) T);

/// The types of caller JSON.
pub(crate) trait CallerJson: Sized {
    /// Writes a value that has been measured.
    fn to_raw(&self) -> RawBson;

    /// Reads a stored value.
    fn from_raw(bson: RawBsonRef<'_>) -> Result<Self, NotJson>;
}

impl CallerJson for Value {
    fn to_raw(&self) -> RawBson {
        to_raw(self)
    }

    fn from_raw(bson: RawBsonRef<'_>) -> Result<Self, NotJson> {
        to_value(bson)
    }
}

impl CallerJson for JsonObject {
    fn to_raw(&self) -> RawBson {
        RawBson::Document(to_raw_document(self))
    }

    fn from_raw(bson: RawBsonRef<'_>) -> Result<Self, NotJson> {
        to_object(bson.as_document().ok_or(NotJson::Type("value without keys"))?)
    }
}

/// Caller JSON that is borrowed while it is written.
impl<T: CallerJson + Clone> CallerJson for Cow<'_, T> {
    fn to_raw(&self) -> RawBson {
        self.as_ref().to_raw()
    }

    fn from_raw(bson: RawBsonRef<'_>) -> Result<Self, NotJson> {
        T::from_raw(bson).map(Cow::Owned)
    }
}

impl<T: CallerJson> Serialize for Json<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.to_raw().serialize(serializer)
    }
}

impl<'de, T: CallerJson> Deserialize<'de> for Json<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawBsonRef::deserialize(deserializer)?;
        T::from_raw(raw).map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;
    use serde_json::json;

    use super::*;
    use crate::mongo::engine::deserializer::deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Stored<'a> {
        value: Json<Value>,
        object: Option<Json<Cow<'a, JsonObject>>>,
    }

    fn poison() -> Vec<Value> {
        vec![
            json!({ "$oid": "507f1f77bcf86cd799439011" }),
            json!({ "$date": { "$numberLong": "5" } }),
            json!({ "$numberLong": "5" }),
            json!({ "$numberDouble": "NaN" }),
            json!({ "$binary": { "base64": "AAAA", "subType": "00" } }),
            json!({ "$serde_json::private::Number": "1" }),
            json!({ "$serde_json::private::RawValue": "1" }),
            json!({ "$__private__bson_RawDocument": [1], "$__private__bson_RawBson": 1 }),
            json!({ "$__bson_private_raw_document": 1, "": [{}, [], null, 0.5, "$x", true] }),
        ]
    }

    #[test]
    fn caller_json_in_a_struct_is_written_and_read_literally() {
        for value in poison() {
            let Value::Object(object) = &value else { panic!("{value}") };
            let stored =
                Stored { value: Json(value.clone()), object: Some(Json(Cow::Borrowed(object))) };
            let written = bson::serialize_to_raw_document_buf(&stored).unwrap();
            let literal = to_raw_document(object);
            assert_eq!(written, rawdoc! { "value": literal.clone(), "object": literal });
            assert_eq!(deserialize::<Stored<'_>>(&written).unwrap(), stored);
        }
    }

    #[test]
    fn values_that_are_not_json_are_refused() {
        for value in
            [bson::Bson::ObjectId(bson::oid::ObjectId::from_bytes([1; 12])), bson::Bson::MinKey]
        {
            let raw = RawDocumentBuf::try_from(&bson::doc! { "value": value }).unwrap();
            assert!(deserialize::<Stored<'_>>(&raw).is_err());
        }
    }
}
