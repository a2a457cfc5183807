use records::MessageBody;
use serde_json::{Map, Value};

use super::NAME;
use crate::canonical::{CanonicalMessage, is_empty_value, take_list, take_object};
use crate::dialect::parsed::keep_own;

/// What only this format has, of one stored message.
#[derive(Debug, Default)]
pub(super) struct OwnFields {
    /// The fields of the request that begins with the message, or of the response.
    pub(super) message: Option<Map<String, Value>>,
    /// The fields of its parts, in order.
    pub(super) parts: Vec<Value>,
    /// The fields of the items of its content, in order; null for an item that has none.
    pub(super) items: Vec<Value>,
    /// How the content was given, if that cannot be seen from the content.
    pub(super) content: Option<ContentForm>,
    /// Whether the message is a request without parts.
    pub(super) is_empty: bool,
}

/// The field of a request without parts.
const EMPTY: &str = "empty";

/// How the content of a part was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentForm {
    /// JSON that looks like a list of stored content parts.
    Json,
    /// One item, not in a list.
    Single,
}

impl OwnFields {
    /// Takes the fields that a message came with; values of a wrong type are ignored.
    pub(super) fn take(message: &mut CanonicalMessage) -> Self {
        let stored = &mut message.provider;
        let (parts, items) = (take_list(stored, "parts"), take_list(stored, "items"));
        let content = match stored.get("content").and_then(Value::as_str) {
            Some("json") => Some(ContentForm::Json),
            Some("single") => Some(ContentForm::Single),
            _ => None,
        };
        let message = match stored.remove("message") {
            Some(Value::Object(message)) => Some(message),
            _ => None,
        };
        let is_empty = stored.get(EMPTY) == Some(&Value::Bool(true));
        Self { message, parts, items, content, is_empty }
    }

    /// Stores the fields with their message.
    pub(super) fn keep(self, body: &mut MessageBody) {
        let mut stored = Map::new();
        let mut put = |field: &str, value: Value| stored.insert(field.to_owned(), value);
        if let Some(message) = self.message {
            put("message", message.into());
        }
        if self.parts.iter().any(|part| *part != Value::Object(Map::new())) {
            put("parts", self.parts.into());
        }
        if self.items.iter().any(|item| !item.is_null()) {
            put("items", self.items.into());
        }
        if self.is_empty {
            put(EMPTY, true.into());
        }
        if let Some(content) = self.content {
            put("content", if content == ContentForm::Json { "json" } else { "single" }.into());
        }
        keep_own(body, NAME, stored);
    }
}

/// Removes where a request begins, and its fields: a run joins the requests with which the one before it ended.
pub(super) fn remove_boundary(body: &mut MessageBody) {
    if body.role == "assistant" {
        return;
    }
    let mut own = take_object(&mut take_object(&mut body.extra, MessageBody::PROVIDER), NAME);
    own.shift_remove("message");
    keep_own(body, NAME, own);
}

/// Removes the fields that are null or an empty list, but for what is said or called.
pub(super) fn remove_empty(mut fields: Map<String, Value>) -> Map<String, Value> {
    let is_payload = |field: &str| ["args", "content", "value"].contains(&field);
    fields.retain(|field, value| is_payload(field) || value.is_string() || !is_empty_value(value));
    fields
}

/// Adds stored fields that the object does not have.
pub(super) fn add_fields(object: &mut Value, fields: &Value) {
    for (field, value) in fields.as_object().into_iter().flatten() {
        if object.get(field).is_none() {
            object[field] = value.clone();
        }
    }
}
