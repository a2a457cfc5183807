use records::JsonObject;
use serde_json::{Map, Value};

use super::NAME;

/// What only this format has, of one stored message.
#[derive(Debug, Default)]
pub(super) struct OwnFields {
    /// The fields of the message.
    pub(super) fields: Map<String, Value>,
    /// The fields of the parts of its content, in order; null for a part that has none.
    pub(super) parts: Vec<Value>,
}

impl OwnFields {
    /// Takes the fields from the metadata of a message; values of a wrong type are ignored.
    pub(super) fn take(metadata: &mut JsonObject) -> Self {
        let mut stored = metadata.remove(NAME).unwrap_or_default();
        let mut take = |field: &str| stored.get_mut(field).map(Value::take).unwrap_or_default();
        let fields = match take("fields") {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let parts = match take("parts") {
            Value::Array(parts) => parts,
            _ => Vec::new(),
        };
        Self { fields, parts }
    }

    /// Returns the metadata to store.
    pub(super) fn into_metadata(self) -> Option<JsonObject> {
        let mut stored = Map::new();
        if !self.fields.is_empty() {
            stored.insert("fields".to_owned(), self.fields.into());
        }
        if self.parts.iter().any(|part| !part.is_null()) {
            stored.insert("parts".to_owned(), self.parts.into());
        }
        (!stored.is_empty()).then(|| JsonObject::from_iter([(NAME.to_owned(), stored.into())]))
    }
}
