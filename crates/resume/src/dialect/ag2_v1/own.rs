//! What an event came with besides what every format has: its difference from the event that would be written of it.

use records::{JsonObject, merge_patch};
use serde_json::Value;

use crate::canonical::{CanonicalMessage, take_list, take_object};
use crate::dialect::parsed::aligned;

/// An event that is no message of the conversation, as it came.
const WHOLE: &str = "whole";
/// Whether it came after the event that closes the calls before it.
const AFTER_RESULTS: &str = "after_results";
/// The difference of the event, without its parts and calls.
const EVENT: &str = "event";
/// The differences of its parts, or of its calls.
const ITEMS: &str = "items";

/// The own fields of a message.
#[derive(Debug, Default)]
pub(super) struct OwnFields {
    pub(super) whole: Option<Value>,
    pub(super) after_results: bool,
    event: JsonObject,
    items: Vec<Value>,
}

impl OwnFields {
    /// Returns the own fields of an event that is stored as it is.
    pub(super) fn of_whole(event: Value, after_results: bool) -> JsonObject {
        let mut fields = JsonObject::from_iter([(WHOLE.to_owned(), event)]);
        if after_results {
            fields.insert(AFTER_RESULTS.to_owned(), true.into());
        }
        fields
    }

    /// Returns the own fields of an event, by what would be written of it and its items.
    pub(super) fn of(
        (written, came): (&Value, &Value),
        items: impl Iterator<Item = (Value, Value)>,
    ) -> JsonObject {
        let items: Vec<Value> =
            items.map(|(written, came)| difference(&written, &came).into()).collect();
        let mut fields = JsonObject::new();
        let event = difference(written, came);
        if !event.is_empty() {
            fields.insert(EVENT.to_owned(), event.into());
        }
        if items.iter().any(|item| item.as_object().is_some_and(|it| !it.is_empty())) {
            fields.insert(ITEMS.to_owned(), items.into());
        }
        fields
    }

    pub(super) fn take(message: &mut CanonicalMessage) -> Self {
        let mut own = std::mem::take(&mut message.provider);
        Self {
            whole: own.shift_remove(WHOLE).filter(|event| event["__event__"].is_string()),
            after_results: own.shift_remove(AFTER_RESULTS) == Some(true.into()),
            event: take_object(&mut own, EVENT),
            items: take_list(&mut own, ITEMS),
        }
    }

    /// Writes what the event came with.
    pub(super) fn add_to_event(&self, event: &mut Value) {
        add(event, &self.event);
    }

    /// Writes what the items came with, if they still are as many.
    pub(super) fn add_to_items(&mut self, items: &mut [Value]) {
        let own = aligned(std::mem::take(&mut self.items), items.len());
        for (item, own) in items.iter_mut().zip(own) {
            if let Value::Object(own) = own {
                add(item, &own);
            }
        }
    }
}

fn add(event: &mut Value, own: &JsonObject) {
    if let Value::Object(event) = event {
        merge_patch(event, own);
    }
}

/// Returns what [`merge_patch`] adds to one object to make it the other. A field that is null there stays as it is here.
fn difference(written: &Value, came: &Value) -> JsonObject {
    let (Value::Object(written), Value::Object(came)) = (written, came) else {
        return JsonObject::new();
    };
    let mut patch = JsonObject::new();
    for field in written.keys().filter(|field| !came.contains_key(*field)) {
        patch.insert(field.clone(), Value::Null);
    }
    for (field, value) in came {
        let before = written.get(field).unwrap_or(&Value::Null);
        if before == value || value.is_null() {
            continue;
        }
        let change = match (before, value) {
            (Value::Object(_), Value::Object(_)) => difference(before, value).into(),
            _ => value.clone(),
        };
        patch.insert(field.clone(), change);
    }
    patch
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_difference_makes_one_object_the_other() {
        let cases = [
            (json!({"a": 1}), json!({"a": 1})),
            (json!({"a": 1, "b": {"c": 1}}), json!({"b": {"d": [1]}, "e": "x"})),
            (json!({"a": {"b": 1}}), json!({"a": [{"b": 1}]})),
            (json!({"a": "x"}), json!({"a": {"b": {}}})),
        ];
        for (written, came) in cases {
            let mut patched = written.clone();
            add(&mut patched, &difference(&written, &came));
            assert_eq!(patched, came);
        }
    }
}
