//! A change of a message of the AI SDK, as changes of the stored messages that it has become.

use std::collections::VecDeque;

use records::{EventId, JsonObject, Message, MessageBody, MessageEdit, NewMessage, Segment};
use serde_json::{Value, json};

use super::find::answered_ids;
use crate::api::messages::OWN_ID;
use crate::problem::Problem;

/// Merges changes into a message: each field replaces the old one.
pub(super) fn merged(mut message: Value, mut changes: JsonObject) -> Result<Value, Problem> {
    for field in ["id", "role"] {
        if changes.shift_remove(field).is_some_and(|value| value != message[field]) {
            return Err(Problem::invalid_body(Segment::key(field), "must stay as it is"));
        }
    }
    let content = changes.shift_remove("content");
    if let (false, Some(Value::String(text))) = (changes.contains_key("parts"), content) {
        replace_text(&mut message, &text);
    }
    for (field, value) in changes {
        message[field] = value;
    }
    Ok(message)
}

/// Makes a text the only text of a message, where its first one was.
fn replace_text(message: &mut Value, text: &str) {
    let Some(parts) = message["parts"].as_array_mut() else { return };
    let is_text = |part: &Value| part["type"] == "text";
    let at = parts.iter().position(is_text).unwrap_or(parts.len());
    parts.retain(|part| !is_text(part));
    if !text.is_empty() {
        parts.insert(at, json!({"type": "text", "text": text}));
    }
}

/// What changes in the store when a message changes.
#[derive(Debug, Default)]
pub(super) struct StoredChanges {
    /// The edits of stored messages, by their sequences.
    pub(super) edits: Vec<(u64, MessageEdit)>,
    /// The messages to append.
    pub(super) appended: Vec<NewMessage>,
    /// The messages that are left over.
    pub(super) deleted: Vec<EventId>,
}

impl StoredChanges {
    /// Compares the stored messages of a message with those that it becomes: its steps in their order, and the results of its
    /// calls by the ids of these.
    pub(super) fn between(stored: Vec<Message>, becomes: Vec<NewMessage>) -> Self {
        let (mut results, steps): (Vec<_>, Vec<_>) =
            stored.into_iter().partition(|message| message.body.role == "tool");
        let mut steps = VecDeque::from(steps);
        let mut changes = Self::default();
        for message in becomes {
            let of_call = |it: &Message| answered_ids(&it.body).eq(answered_ids(&message.body));
            let old = match message.body.role.as_str() {
                "tool" => results.iter().position(of_call).map(|at| results.remove(at)),
                _ => steps.pop_front(),
            };
            match old {
                Some(old) => changes.edits.extend(edit(&old, message.body)),
                None => changes.appended.push(message),
            }
        }
        changes.deleted.extend(results.into_iter().chain(steps).map(|left| left.event_id));
        changes
    }

    /// Returns whether something is said that was not said before.
    pub(super) fn says_more(&self) -> bool {
        self.appended.iter().any(|message| message.body.role != "tool")
    }
}

/// Returns the edit that makes a stored message say something else; `None` if it says it already.
fn edit(old: &Message, mut body: MessageBody) -> Option<(u64, MessageEdit)> {
    // What is known of a message besides what it says stays.
    let kept = MessageBody::NATIVE.into_iter().chain(MessageBody::ID_FIELDS).chain([OWN_ID]);
    for field in kept {
        if let Some(value) = old.body.extra.get(field)
            && !body.extra.contains_key(field)
        {
            body.extra.insert(field.to_owned(), value.clone());
        }
    }
    if old.body.metadata.is_some() {
        body.metadata.get_or_insert_default();
    }
    let edit = MessageEdit::from(body);
    (edit.apply(&old.body) != old.body).then_some((old.sequence, edit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn changed(message: Value, changes: Value) -> Value {
        let Value::Object(changes) = changes else { panic!("{changes}") };
        merged(message, changes).unwrap()
    }

    #[test]
    fn each_field_replaces_the_old_one() {
        let message =
            json!({"id": "a", "role": "user", "parts": [text("x")], "metadata": {"a": 1}});
        let new = json!({"id": "a", "metadata": {"b": 2}});
        let expected =
            json!({"id": "a", "role": "user", "parts": [text("x")], "metadata": {"b": 2}});
        assert_eq!(changed(message.clone(), new), expected);
        assert!(merged(message, JsonObject::from_iter([("id".to_owned(), "b".into())])).is_err());
    }

    #[test]
    fn content_replaces_the_text_unless_there_are_parts() {
        let call = json!({"type": "dynamic-tool"});
        let message = json!({"parts": [text("x"), call, text("y")]});
        let replaced = changed(message.clone(), json!({"content": "z"}));
        assert_eq!(replaced["parts"], json!([text("z"), call]));
        let empty = changed(message.clone(), json!({"content": ""}));
        assert_eq!(empty["parts"], json!([call]));
        let both = changed(message, json!({"content": "z", "parts": [text("p")]}));
        assert_eq!(both["parts"], json!([text("p")]));
    }
}
