//! What only a UI message has: how its parts are ordered, and their fields that no other format has.

use records::{JsonObject, MessageBody};
use serde_json::Value;

use super::NAME;
use crate::canonical::{CanonicalMessage, Role, take_list, take_object};
use crate::dialect::parsed::keep_own;

/// The field of an entry that says which part it describes: see [`PartKind`].
pub(super) const OF: &str = "of";

/// The field of a step that continues the message before it.
const CONTINUES: &str = "continues";

/// The field of an answer without parts, which the SDK accepts.
const EMPTY: &str = "empty";

/// The fields of one stored message: a step of a UI message.
#[derive(Debug, Default)]
pub(super) struct OwnFields {
    /// An entry for each part, in order: the fields of a part of the log, or a whole part that the log does not have.
    pub(super) parts: Vec<Value>,
    /// Whether the step continues the message before it.
    pub(super) continues: bool,
    /// The id of what the user said while the assistant was answering; `None` for any other step.
    pub(super) steering: Option<String>,
    /// The metadata of the message, if they are no object.
    pub(super) metadata: Value,
    /// Other fields of the message, which the SDK does not have: they are not written.
    pub(super) fields: JsonObject,
}

/// Marks a message as a step that continues the message before it.
pub(crate) fn mark_step(body: &mut MessageBody) {
    let mut provider = take_object(&mut body.extra, MessageBody::PROVIDER);
    let mut own = take_object(&mut provider, NAME);
    own.insert(CONTINUES.to_owned(), true.into());
    keep_own(body, NAME, own);
}

/// Removes the states of the calls of a message, and the mark that a step follows.
pub(super) fn remove_call_states(body: &mut MessageBody) {
    let mut provider = take_object(&mut body.extra, MessageBody::PROVIDER);
    let mut own = take_object(&mut provider, NAME);
    let mut parts = take_list(&mut own, "parts");
    for part in parts.iter_mut().filter(|part| PartKind::of(part) == Some(PartKind::Call)) {
        *part = PartKind::Call.entry(JsonObject::new());
    }
    parts.pop_if(|part| part["type"] == "step-start");
    if !is_default(&parts) {
        own.insert("parts".to_owned(), parts.into());
    }
    keep_own(body, NAME, own);
}

/// What a part is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum PartKind {
    Reasoning,
    Content,
    Call,
}

impl PartKind {
    pub(super) const ALL: [Self; 3] = [Self::Reasoning, Self::Content, Self::Call];

    fn name(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::Content => "content",
            Self::Call => "call",
        }
    }

    /// Returns the entry for a part with these fields.
    pub(super) fn entry(self, mut fields: JsonObject) -> Value {
        fields.retain(|_, value| !value.is_null());
        fields.insert(OF.to_owned(), self.name().into());
        fields.into()
    }

    /// Returns what the part of an entry is in the log; `None` if the log does not have it.
    pub(super) fn of(entry: &Value) -> Option<Self> {
        let name = entry[OF].as_str()?;
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Returns whether the entries say only what is written without them: reasoning, then content, then calls.
fn is_default(parts: &[Value]) -> bool {
    let is_plain = |entry: &Value| entry.as_object().is_some_and(|entry| entry.len() == 1);
    let kinds = parts.iter().map(|entry| PartKind::of(entry).filter(|_| is_plain(entry)));
    kinds.collect::<Option<Vec<_>>>().is_some_and(|kinds| kinds.is_sorted())
}

impl OwnFields {
    /// Takes the fields that a message came with; values of a wrong type are ignored.
    pub(super) fn take(message: &mut CanonicalMessage) -> Self {
        let stored = &mut message.provider;
        Self {
            parts: take_list(stored, "parts"),
            continues: stored.get(CONTINUES) == Some(&Value::Bool(true)),
            steering: stored.get("steering").and_then(Value::as_str).map(str::to_owned),
            metadata: stored.get_mut("metadata").map(Value::take).unwrap_or_default(),
            fields: take_object(stored, "fields"),
        }
    }

    /// Stores the fields with their message.
    pub(super) fn keep(self, body: &mut MessageBody) {
        let mut stored = JsonObject::new();
        if !is_default(&self.parts) {
            stored.insert("parts".to_owned(), self.parts.into());
        }
        let says_nothing = body.content.is_null() && body.extra.is_empty();
        if says_nothing && stored.is_empty() && body.role == Role::Assistant.as_str() {
            stored.insert(EMPTY.to_owned(), true.into());
        }
        if self.continues {
            stored.insert(CONTINUES.to_owned(), true.into());
        }
        if let Some(id) = self.steering {
            stored.insert("steering".to_owned(), id.into());
        }
        if !self.metadata.is_null() {
            stored.insert("metadata".to_owned(), self.metadata);
        }
        if !self.fields.is_empty() {
            stored.insert("fields".to_owned(), self.fields.into());
        }
        keep_own(body, NAME, stored);
    }
}
