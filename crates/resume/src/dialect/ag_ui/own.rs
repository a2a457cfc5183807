use records::MessageBody;
use serde_json::{Map, Value};

use super::NAME;
use crate::canonical::{ANSWER, CanonicalMessage, Role, take_list, take_object};
use crate::dialect::parsed::keep_own;

/// The field of an answer without a content, which the protocol accepts.
const EMPTY: &str = "empty";

/// What only this format has, of one stored message.
#[derive(Debug, Default)]
pub(super) struct OwnFields {
    /// The fields of the message.
    pub(super) fields: Map<String, Value>,
    /// The fields of the parts of its content, in order; null for a part that has none.
    pub(super) parts: Vec<Value>,
    /// Whether the message is reasoning, a piece of the answer that follows it.
    pub(super) is_piece: bool,
}

impl OwnFields {
    /// Takes the fields that a message came with; values of a wrong type are ignored.
    pub(super) fn take(message: &mut CanonicalMessage) -> Self {
        let stored = &mut message.provider;
        Self {
            fields: take_object(stored, "fields"),
            parts: take_list(stored, "parts"),
            is_piece: stored.remove(ANSWER).is_some(),
        }
    }

    /// Stores the fields with their message.
    pub(super) fn keep(self, body: &mut MessageBody) {
        let mut stored = Map::new();
        if !self.fields.is_empty() {
            stored.insert("fields".to_owned(), self.fields.into());
        }
        if self.parts.iter().any(|part| !part.is_null()) {
            stored.insert("parts".to_owned(), self.parts.into());
        }
        let says_nothing = body.content.is_null() && body.extra.is_empty();
        if says_nothing && body.role == Role::Assistant.as_str() {
            stored.insert(EMPTY.to_owned(), true.into());
        }
        if self.is_piece {
            stored.insert(ANSWER.to_owned(), true.into());
        }
        keep_own(body, NAME, stored);
    }
}
