use records::MessageBody;
use serde_json::{Map, Value};

use super::NAME;
use super::fields;
use crate::Repair;
use crate::canonical::{CanonicalMessage, take_list, take_object};
use crate::dialect::parsed::keep_own;
use crate::dialect::shapes::retain;

/// What only this format has, of one stored message.
#[derive(Debug, Default)]
pub(super) struct OwnFields {
    /// The fields of the event.
    pub(super) event: Map<String, Value>,
    /// What is left of the parts of its content, in order; `None` if nothing is left.
    pub(super) parts: Option<Vec<LeftPart>>,
    /// Whether the message is part of the event of the message before it.
    pub(super) is_joined: bool,
    /// Whether the model gives the results that the message holds.
    pub(super) is_model: bool,
}

/// What is left of a part once its payload was stored.
#[derive(Debug)]
pub(super) struct LeftPart {
    pub(super) kind: PartKind,
    /// The other fields of the part.
    pub(super) part: Map<String, Value>,
    /// The other fields of its payload.
    pub(super) payload: Map<String, Value>,
}

/// How a part is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    /// As reasoning.
    Thought,
    /// As a content part.
    Content,
    /// As a call.
    Call,
    /// As a call, whose arguments are missing.
    BareCall,
    /// As the result of a call.
    Result,
    /// Only here, because no other format has it.
    Own,
}

impl PartKind {
    const ALL: [Self; 6] =
        [Self::Thought, Self::Content, Self::Call, Self::BareCall, Self::Result, Self::Own];

    fn as_str(self) -> &'static str {
        match self {
            Self::Thought => "thought",
            Self::Content => "content",
            Self::Call => "call",
            Self::BareCall => "bare_call",
            Self::Result => "result",
            Self::Own => "own",
        }
    }

    /// Returns the number of the queue from which such a part is written: reasoning, content and calls.
    pub(super) fn queue(self) -> Option<usize> {
        match self {
            Self::Thought => Some(0),
            Self::Content => Some(1),
            Self::Call | Self::BareCall => Some(2),
            Self::Result | Self::Own => None,
        }
    }
}

impl OwnFields {
    /// Takes the fields that a message came with; values that the library refuses are removed.
    pub(super) fn take(message: &mut CanonicalMessage) -> Self {
        let mut stored = std::mem::take(&mut message.provider);
        let mut event = take_object(&mut stored, "event");
        let mut removes_any = fields::retain_of_event(&mut event);
        let has_parts = stored.contains_key("parts");
        let mut parts = Vec::new();
        for part in take_list(&mut stored, "parts") {
            match LeftPart::read(part) {
                Some((part, is_whole)) => {
                    removes_any |= !is_whole;
                    parts.push(part);
                }
                None => removes_any = true,
            }
        }
        if removes_any {
            message.repairs.push(Repair::ProviderFieldsRemoved);
        }
        let [is_joined, is_model] =
            ["joined", "model"].map(|mark| stored.get(mark) == Some(&Value::Bool(true)));
        Self { event, parts: has_parts.then_some(parts), is_joined, is_model }
    }

    /// Stores the fields with their message.
    pub(super) fn keep(self, body: &mut MessageBody) {
        let mut stored = Map::new();
        if !self.event.is_empty() {
            stored.insert("event".to_owned(), self.event.into());
        }
        if let Some(parts) = self.parts {
            let parts: Vec<_> = parts.into_iter().map(LeftPart::write).collect();
            stored.insert("parts".to_owned(), parts.into());
        }
        for (mark, is_set) in [("joined", self.is_joined), ("model", self.is_model)] {
            if is_set {
                stored.insert(mark.to_owned(), true.into());
            }
        }
        keep_own(body, NAME, stored);
    }
}

impl LeftPart {
    pub(super) fn new(kind: PartKind, part: Map<String, Value>) -> Self {
        Self { kind, part, payload: Map::new() }
    }

    /// Returns whether there is nothing but the kind.
    pub(super) fn is_empty(&self) -> bool {
        self.part.is_empty() && self.payload.is_empty()
    }

    /// Reads a stored part, and returns whether the library accepts all of its fields.
    fn read(stored: Value) -> Option<(Self, bool)> {
        let Value::Object(mut stored) = stored else { return None };
        let kind = stored.remove("kind")?;
        let kind = PartKind::ALL.into_iter().find(|known| kind == known.as_str())?;
        let mut part = take_object(&mut stored, "part");
        let payload = take_object(&mut stored, "payload");
        let removes_any = retain(&mut part, fields::PART);
        Some((Self { kind, part, payload }, !removes_any))
    }

    fn write(self) -> Value {
        let mut stored = Map::new();
        stored.insert("kind".to_owned(), self.kind.as_str().into());
        for (field, fields) in [("part", self.part), ("payload", self.payload)] {
            if !fields.is_empty() {
                stored.insert(field.to_owned(), fields.into());
            }
        }
        stored.into()
    }

    /// Adds the stored fields to a written part that does not have them.
    pub(super) fn add_to(&self, part: &mut Value) {
        for (field, value) in &self.part {
            if part.get(field).is_none() {
                part[field] = value.clone();
            }
        }
    }
}
