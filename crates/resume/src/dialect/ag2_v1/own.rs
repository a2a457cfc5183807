//! What an event came with besides what every format has: its difference from the event that would be written of it.

use records::{JsonObject, merge_patch};
use serde_json::Value;

use super::events;
use crate::canonical::{CanonicalMessage, Role, take_list, take_object};
use crate::dialect::parsed::aligned;

/// An event that is no message of the conversation, as it came.
const WHOLE: &str = "whole";
/// The difference of the event, without its parts and calls.
const EVENT: &str = "event";
/// The differences of its parts, or of its calls.
const ITEMS: &str = "items";

/// The own fields of a message.
#[derive(Debug, Default)]
pub(super) struct OwnFields {
    pub(super) whole: Option<Value>,
    event: JsonObject,
    items: Vec<Value>,
}

impl OwnFields {
    /// Returns the own fields of an event that is stored as it is.
    pub(super) fn of_whole(event: Value) -> JsonObject {
        JsonObject::from_iter([(WHOLE.to_owned(), event)])
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
        // An agent tells of its run. What people say is no event of an agent.
        let is_of_agent = message.role == Role::Assistant && message.says_nothing();
        let whole = own.shift_remove(WHOLE).filter(|event| event["__event__"].is_string());
        Self {
            whole: whole.filter(|_| is_of_agent),
            event: take_object(&mut own, EVENT),
            items: take_list(&mut own, ITEMS),
        }
    }

    /// Writes what the event came with, unless that makes it another one.
    pub(super) fn add_to_event(&self, event: &mut Value, kind: &Kind) {
        add(event, &self.event, kind);
    }

    /// Writes what the items came with, if they still are as many.
    pub(super) fn add_to_items(&mut self, items: &mut [Value], kind: &Kind) {
        let own = aligned(std::mem::take(&mut self.items), items.len());
        for (item, own) in items.iter_mut().zip(own) {
            if let Value::Object(own) = own {
                add(item, &own, kind);
            }
        }
    }
}

/// A kind of events, or of objects in them.
#[derive(Debug)]
pub(super) struct Kind {
    /// How the names of its classes end.
    classes: &'static [&'static str],
    /// What the log says, which nothing else replaces.
    said: &'static [&'static str],
}

impl Kind {
    pub(super) const REQUEST: Self = Self { classes: &["ModelRequest"], said: &["/parts"] };
    pub(super) const INPUT: Self =
        Self { classes: &["Input"], said: &["/url", "/data/__bytes__", "/file_id"] };
    pub(super) const RESPONSE: Self = Self {
        classes: &[".ModelResponse"],
        said: &["/message/content", "/tool_calls/__event__", "/tool_calls/calls"],
    };
    pub(super) const CALL: Self = Self { classes: &[".ToolCallEvent"], said: &["/id", "/name"] };
    pub(super) const RESULT: Self = Self {
        classes: &[".ToolResultEvent", ".ToolErrorEvent", ".ToolNotFoundEvent"],
        said: &["/parent_id", "/name", "/result/data/parts"],
    };

    /// Returns whether an object is still of this kind, and still says the same.
    fn holds(&self, before: &Value, after: &Value) -> bool {
        let class = after["__event__"].as_str().unwrap_or_default();
        self.classes.iter().any(|known| class.ends_with(known))
            && self.said.iter().all(|place| before.pointer(place) == after.pointer(place))
            && arguments(before) == arguments(after)
            && text(before) == text(after)
    }
}

/// Returns the text of an input: data are given to a model as their JSON text.
fn text(input: &Value) -> Option<String> {
    match input["__event__"].as_str()?.rsplit('.').next()? {
        "TextInput" => input["content"].as_str().map(str::to_owned),
        "DataInput" => Some(input["data"].to_string()),
        _ => None,
    }
}

/// Returns the arguments of a call, however they are written.
fn arguments(call: &Value) -> Option<Value> {
    events::read_arguments(call.get("arguments")?.as_str()?)
}

fn add(event: &mut Value, own: &JsonObject, kind: &Kind) {
    if own.is_empty() {
        return;
    }
    let mut patched = event.clone();
    if let Value::Object(fields) = &mut patched {
        merge_patch(fields, own);
    }
    if kind.holds(event, &patched) {
        *event = patched;
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
    fn an_event_stays_what_the_log_says() {
        let written = json!({"__event__": "ag2.events.input_events.ModelRequest", "parts": []});
        for own in [
            json!({"__event__": "ag2.events.types.ModelResponse"}),
            json!({"parts": [1]}),
            json!({"parts": null}),
        ] {
            let mut event = written.clone();
            add(&mut event, own.as_object().unwrap(), &Kind::REQUEST);
            assert_eq!(event, written);
        }
        let said = json!({"__event__": "x.TextInput", "content": "a", "metadata": {}});
        let mut input = said.clone();
        add(&mut input, json!({"content": "b"}).as_object().unwrap(), &Kind::INPUT);
        assert_eq!(input, said);
        let call =
            json!({"__event__": "x.ToolCallEvent", "id": "a", "name": "f", "arguments": "{}"});
        let own = json!({"arguments": r#"{"a":1}"#});
        let mut event = call.clone();
        add(&mut event, own.as_object().unwrap(), &Kind::CALL);
        assert_eq!(event, call);
    }

    #[test]
    fn a_difference_makes_one_object_the_other() {
        let cases = [
            (json!({"a": 1}), json!({"a": 1})),
            (json!({"a": 1, "b": {"c": 1}}), json!({"b": {"d": [1]}, "e": "x"})),
            (json!({"a": {"b": 1}}), json!({"a": [{"b": 1}]})),
            (json!({"a": "x"}), json!({"a": {"b": {}}})),
        ];
        for (written, came) in cases {
            let Value::Object(mut patched) = written.clone() else { panic!() };
            merge_patch(&mut patched, &difference(&written, &came));
            assert_eq!(Value::Object(patched), came);
        }
    }
}
