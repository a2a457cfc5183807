//! Fields that a message of Reprise does not have, kept with the message.

use records::{JsonObject, MessageBody};
use serde_json::Value;

/// Keeps fields under the name of their layout.
pub(crate) fn keep(extra: &mut JsonObject, layout: &str, fields: JsonObject) {
    if fields.is_empty() {
        return;
    }
    let provider = extra.entry(MessageBody::PROVIDER).or_insert_with(|| JsonObject::new().into());
    if let Value::Object(provider) = provider {
        provider.insert(layout.to_owned(), fields.into());
    }
}

/// Takes the fields that are kept under the name of a layout.
pub(crate) fn take(extra: &mut JsonObject, layout: &str) -> JsonObject {
    let provider = extra.get_mut(MessageBody::PROVIDER).and_then(Value::as_object_mut);
    let kept = provider.and_then(|provider| provider.shift_remove(layout));
    let is_empty = |provider: &Value| provider.as_object().is_some_and(JsonObject::is_empty);
    if extra.get(MessageBody::PROVIDER).is_some_and(is_empty) {
        extra.shift_remove(MessageBody::PROVIDER);
    }
    match kept {
        Some(Value::Object(fields)) => fields,
        _ => JsonObject::new(),
    }
}
