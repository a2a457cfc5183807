use records::{JsonObject, MessageBody};
use serde_json::{Value, json};

use super::message::{CanonicalMessage, is_empty_value};
use super::reasoning::POSITION;
use super::role::Role;

/// The own field of a message that is a piece of an answer: the id of the answer, or true if the pieces follow one another.
pub(crate) const ANSWER: &str = "answer";

/// The own field of a message that goes on with another one: the id of that one, or true for the one before it.
pub(crate) const CONTINUED: &str = "messageId";

/// Where a block of reasoning holds how many calls of its message come before it.
pub(crate) const AFTER_CALLS: &str = "after_calls";

/// Marks a message as a piece of the answer of a model, which its dialect wrote as several messages.
///
/// Each piece is stored by itself, so that a transcript that is sent in parts is the same log as a whole one. Other
/// dialects render the answer as one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerMark {
    pub(crate) dialect: String,
    /// The id of the answer; `None` if its pieces follow one another.
    pub(crate) id: Option<String>,
}

/// Marks a message as the rest of an earlier one, which was sent in several requests.
///
/// A message that is sent whole is stored whole, and one that comes chunk by chunk as several messages. All other dialects
/// render those as one, if nothing comes between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContinuedMark {
    pub(crate) dialect: String,
    /// The id of the message that goes on; `None` for the answer before it, in a format without ids.
    id: Option<String>,
}

/// What the pieces of an answer have so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AnswerShape {
    has_content: bool,
    has_calls: bool,
}

impl AnswerMark {
    /// Reads the mark from what a message came with.
    pub(crate) fn read(provider: &JsonObject) -> Option<Self> {
        let marked = provider.iter().find_map(|(dialect, own)| Some((dialect, own.get(ANSWER)?)));
        let (dialect, id) = marked?;
        let id = match id {
            Value::String(id) => Some(id.clone()),
            Value::Bool(true) => None,
            // A message without an id that continues none.
            _ => return None,
        };
        Some(Self { dialect: dialect.clone(), id })
    }

    /// Removes the mark.
    pub(crate) fn remove(&self, provider: &mut JsonObject) {
        let own = provider.get_mut(&self.dialect).and_then(Value::as_object_mut);
        let is_empty = own.is_some_and(|own| own.shift_remove(ANSWER).is_some() && own.is_empty());
        if is_empty {
            provider.shift_remove(&self.dialect);
        }
    }

    /// Returns whether a message with another mark may belong to the answer.
    pub(crate) fn is_same(
        &self,
        shape: AnswerShape,
        other: Option<&Self>,
        next: AnswerShape,
    ) -> bool {
        match self.id {
            Some(_) => other == Some(self),
            None => shape.is_reasoning() || other == Some(self) && shape.goes_on_with(next),
        }
    }
}

impl ContinuedMark {
    /// Reads the mark from what a message came with.
    pub(crate) fn read(provider: &JsonObject) -> Option<Self> {
        provider.iter().find_map(|(dialect, own)| Self::of(dialect, own.as_object()?))
    }

    /// Reads the mark from the fields that only a dialect has.
    pub(crate) fn of(dialect: &str, own: &JsonObject) -> Option<Self> {
        let id = match own.get(CONTINUED)? {
            Value::String(id) => Some(id.clone()),
            Value::Bool(true) => None,
            _ => return None,
        };
        Some(Self { dialect: dialect.to_owned(), id })
    }

    /// Returns the mark of a message that goes on with the one that has an id, or with the answer before it.
    pub(crate) fn new(dialect: &str, id: Option<String>) -> Self {
        Self { dialect: dialect.to_owned(), id }
    }

    /// Returns whether this goes on with a message, which has a role, an id and perhaps a mark, too.
    pub(crate) fn continues(&self, role: &str, id: &str, mark: Option<&Self>) -> bool {
        match &self.id {
            Some(own) => own == id || mark == Some(self),
            None => role == Role::Assistant.as_str(),
        }
    }
}

impl From<ContinuedMark> for Value {
    fn from(mark: ContinuedMark) -> Self {
        mark.id.map_or(Self::Bool(true), Self::String)
    }
}

impl AnswerShape {
    pub(crate) fn of(message: &CanonicalMessage) -> Self {
        let has_content = message.has_content_without_calls() || !message.content.is_null();
        Self { has_content, has_calls: !message.calls.is_empty() }
    }

    pub(crate) fn of_body(body: &MessageBody) -> Self {
        let has = |field: &str| body.extra.get(field).is_some_and(|it| !is_empty_value(it));
        let has_content = !body.content.is_null() || has("refusal");
        Self { has_content, has_calls: has("tool_calls") }
    }

    pub(crate) fn with(self, next: Self) -> Self {
        let has_content = self.has_content || next.has_content;
        Self { has_content, has_calls: self.has_calls || next.has_calls }
    }

    pub(crate) fn has_content(self) -> bool {
        self.has_content
    }

    pub(crate) fn is_reasoning(self) -> bool {
        !self.has_content && !self.has_calls
    }

    /// Returns whether a model may go on so in one answer: it says one thing, and makes calls.
    fn goes_on_with(self, next: Self) -> bool {
        match next {
            Self { has_content: true, .. } => !self.has_content,
            Self { has_calls: true, .. } => true,
            _ => self.has_calls,
        }
    }
}

impl CanonicalMessage {
    /// Returns whether another message can become a part of this one, without a change of what either says.
    pub(crate) fn can_join(&self, later: &Self) -> bool {
        let is_blank = |it: &Self| is_empty_value(&it.content) && !it.content.is_null();
        later.role == Role::Assistant
            && (self.name == later.name || AnswerShape::of(self).is_reasoning())
            && !is_blank(self)
            && !is_blank(later)
            && self.has_place_for(later)
    }

    /// Returns whether another message can be the rest of this one.
    pub(crate) fn can_continue_with(&self, rest: &Self) -> bool {
        rest.role == self.role
            && matches!(self.role, Role::Assistant | Role::User)
            && (self.name == rest.name || rest.name.is_none())
            && self.has_place_for(rest)
    }

    /// Returns whether one message can hold the calls of both, and their refusals.
    fn has_place_for(&self, later: &Self) -> bool {
        let is_plain = |it: &Self| it.function_call.is_none() && it.malformed_calls.is_none();
        let is_repeated = |id: &String| self.calls.iter().any(|call| call.stored_id == *id);
        is_plain(self)
            && is_plain(later)
            && (self.refusal.is_none() || later.refusal.is_none())
            && !later.calls.iter().any(|call| is_repeated(&call.stored_id))
    }

    /// Adds the rest of the message, whose id and time stay.
    ///
    /// It takes the place of its last part, so that it has the same place in a window that begins within it.
    pub(crate) fn continue_with(&mut self, rest: Self) {
        let (id, timestamp) = (self.event_id.clone(), self.timestamp.clone());
        self.origin = rest.origin;
        self.join(rest);
        (self.event_id, self.timestamp) = (id, timestamp);
    }

    /// Adds what a later message of the same answer says. What has the content has the id and the other fields.
    pub(crate) fn join(&mut self, mut later: Self) {
        let (before, calls) = (part_count(&self.content), self.calls.len());
        if before == 0 && self.refusal.is_none() && part_count(&later.content) > 0 {
            self.event_id = later.event_id;
            self.name = later.name;
            self.timestamp = later.timestamp.or(self.timestamp.take());
            self.provider = later.provider;
            self.metadata = later.metadata;
        } else if self.metadata.is_empty() {
            self.metadata = later.metadata;
        }
        self.join_reasoning(later.reasoning, before, calls);
        self.content = match (self.content.take(), later.content) {
            (Value::Null, only) | (only, Value::Null) => only,
            (first, second) => into_parts(first).into_iter().chain(into_parts(second)).collect(),
        };
        self.refusal = self.refusal.take().or(later.refusal);
        self.calls.append(&mut later.calls);
        self.repairs.append(&mut later.repairs);
    }

    /// Adds the reasoning of a piece that comes after some content parts and calls.
    fn join_reasoning(&mut self, later: Value, before: usize, calls: usize) {
        let is_first = self.reasoning.is_null() && before == 0 && calls == 0;
        if is_first {
            self.reasoning = later;
            return;
        }
        if later.is_null() {
            return;
        }
        let mut reasoning = into_blocks(self.reasoning.take());
        for mut block in into_blocks(later) {
            if before > 0 {
                let position = block[POSITION].as_u64().unwrap_or_default();
                block[POSITION] = (before as u64 + position).into();
            }
            if calls > 0 {
                block[AFTER_CALLS] = calls.into();
            }
            reasoning.push(block);
        }
        self.reasoning = reasoning.into();
    }
}

/// Returns how many parts a content has.
pub(crate) fn part_count(content: &Value) -> usize {
    match content {
        Value::Null => 0,
        Value::Array(parts) => parts.len(),
        _ => 1,
    }
}

fn into_parts(content: Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts,
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        other => vec![json!({"type": "text", "text": other.to_string()})],
    }
}

fn into_blocks(reasoning: Value) -> Vec<Value> {
    match reasoning {
        Value::Null => Vec::new(),
        Value::Array(blocks) => blocks.into_iter().filter(Value::is_object).collect(),
        text => vec![json!({"type": "thinking", "thinking": text})],
    }
}
