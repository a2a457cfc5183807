use records::{JsonObject, MessageBody};
use serde_json::{Value, json};

use super::NAME;
use crate::canonical::{ANSWER, CanonicalMessage, take_list, take_object};
use crate::dialect::parsed::keep_own;

/// The field with what only an entry of this format has.
pub(super) const ENTRY: &str = "entry";

/// What only this format has, of one stored message.
#[derive(Debug, Default)]
pub(super) struct OwnFields {
    /// The entry of the message; a message of another format has none.
    pub(super) entry: Option<OwnEntry>,
    /// Whether the message belongs to the entry of the message before it.
    pub(super) continues: bool,
    /// An entry that is no message.
    pub(super) note: JsonObject,
    /// The id that all entries of one answer have.
    pub(super) answer: Option<Value>,
}

/// What only this format has, of one entry.
#[derive(Debug, Default)]
pub(super) struct OwnEntry {
    /// The fields of the entry, but for those that are rendered anyway.
    pub(super) fields: JsonObject,
    /// The fields of its message, but for the content.
    pub(super) message: JsonObject,
    /// The fields of the blocks of its content, each with its type.
    pub(super) blocks: Vec<Value>,
    /// The place of each block in the entry, if results do not come first.
    pub(super) order: Vec<usize>,
    /// Whether the content of an answer is a text, not a list.
    pub(super) is_text: bool,
    /// Whether the entry names no parent, not even null.
    pub(super) is_unlinked: bool,
}

impl OwnFields {
    /// Takes the fields that a message came with; values of a wrong type are ignored.
    pub(super) fn take(message: &mut CanonicalMessage) -> Self {
        let stored = &mut message.provider;
        Self {
            continues: stored.remove("continues") == Some(Value::Bool(true)),
            note: take_object(stored, "note"),
            answer: stored.remove(ANSWER),
            entry: stored.remove(ENTRY).and_then(OwnEntry::read),
        }
    }

    /// Stores the fields with their message.
    pub(super) fn keep(self, body: &mut MessageBody) {
        let mut stored = JsonObject::new();
        if self.continues {
            stored.insert("continues".to_owned(), true.into());
        }
        if !self.note.is_empty() {
            stored.insert("note".to_owned(), self.note.into());
        }
        stored.extend(self.answer.map(|id| (ANSWER.to_owned(), id)));
        stored.extend(self.entry.map(|entry| (ENTRY.to_owned(), entry.into_stored())));
        keep_own(body, NAME, stored);
    }
}

impl OwnEntry {
    fn read(stored: Value) -> Option<Self> {
        let Value::Object(mut stored) = stored else { return None };
        let number = |value: &Value| usize::try_from(value.as_u64().unwrap_or(u64::MAX)).ok();
        let order = take_list(&mut stored, "order");
        Some(Self {
            fields: take_object(&mut stored, "fields"),
            message: take_object(&mut stored, "message"),
            blocks: take_list(&mut stored, "blocks").into_iter().filter_map(read_block).collect(),
            order: order.iter().filter_map(number).collect(),
            is_text: stored.get("text").is_some(),
            is_unlinked: stored.get("unlinked").is_some(),
        })
    }

    fn into_stored(self) -> Value {
        let mut stored = json!({"fields": self.fields});
        let blocks: Vec<_> = self.blocks.into_iter().map(stored_block).collect();
        if !self.message.is_empty() {
            stored["message"] = self.message.into();
        }
        if !blocks.is_empty() {
            stored["blocks"] = blocks.into();
        }
        if !self.order.is_empty() {
            stored["order"] = self.order.into();
        }
        for (field, _) in
            [("text", self.is_text), ("unlinked", self.is_unlinked)].iter().filter(|it| it.1)
        {
            stored[*field] = true.into();
        }
        stored
    }
}

/// Reads the fields of a block: an object, or the type alone.
fn read_block(stored: Value) -> Option<Value> {
    match stored {
        Value::String(kind) => Some(json!({"type": kind})),
        other => other["type"].is_string().then_some(other),
    }
}

/// Returns the type alone for a block that has no other fields.
fn stored_block(mut block: Value) -> Value {
    let is_plain = block.as_object().is_some_and(|fields| fields.len() == 1);
    if is_plain { block["type"].take() } else { block }
}
