use records::{JsonObject, MessageBody};
use serde_json::{Map, Value};

use super::NAME;
use super::reasoning::{AFTER_CALLS, stored_block};
use crate::canonical::is_empty_value;
use crate::dialect::parsed::{content_from_parts, keep_own, set_extra};

/// What a model says before anything else happens: it becomes one message.
#[derive(Default)]
pub(super) struct Turn {
    /// The position of its first item.
    pub(super) index: usize,
    pub(super) id: Option<String>,
    /// What only this format has.
    pub(super) own: JsonObject,
    /// Whether the content is that of a message item; otherwise, it has only built-in items.
    pub(super) has_message: bool,
    pub(super) parts: Vec<Value>,
    pub(super) calls: Vec<Value>,
    /// Whether a call has an output that comes later.
    pub(super) awaits_output: bool,
    reasoning: Vec<Value>,
    /// How many blocks of the reasoning come before the last call.
    reasoning_of_calls: usize,
}

impl Turn {
    pub(super) fn is_empty(&self) -> bool {
        !self.has_content() && self.calls.is_empty() && self.reasoning.is_empty()
    }

    pub(super) fn has_content(&self) -> bool {
        self.has_message || !self.parts.is_empty()
    }

    /// Returns whether the turn has a message that says nothing, and no calls.
    pub(super) fn is_empty_message(&self) -> bool {
        let may_say_nothing = self.has_message && self.calls.is_empty();
        may_say_nothing && self.parts.iter().all(|part| part["text"] == "")
    }

    /// Adds a call; `is_answered` says whether its output comes later.
    pub(super) fn push_call(&mut self, call: Value, is_answered: bool) {
        self.calls.push(call);
        self.awaits_output |= is_answered;
        self.reasoning_of_calls = self.reasoning.len();
    }

    pub(super) fn push_reasoning(&mut self, item: Map<String, Value>) {
        self.reasoning.push(stored_block(item, self.calls.len()));
    }

    /// Splits off the reasoning after the last call, as the beginning of the next turn.
    pub(super) fn split_off_reasoning(&mut self) -> Self {
        if self.calls.is_empty() {
            return Self::default();
        }
        let mut reasoning = self.reasoning.split_off(self.reasoning_of_calls);
        for block in &mut reasoning {
            block["extra_content"]["openai"].as_object_mut().map(|own| own.remove(AFTER_CALLS));
        }
        Self { index: self.index, reasoning, ..Self::default() }
    }

    /// Returns the message body to store.
    pub(super) fn into_body(mut self) -> MessageBody {
        let refusal = self.parts.pop_if(|part| is_plain_refusal(part));
        let mut body = MessageBody::new("assistant", None, content_from_parts(self.parts));
        set_extra(&mut body, "refusal", refusal.map(|part| part["refusal"].clone()));
        set_extra(&mut body, "tool_calls", self.calls);
        set_extra(&mut body, "reasoning_content", self.reasoning);
        keep_filled(&mut body, self.own);
        body
    }
}

/// Returns whether a content part may be stored as the refusal of its message.
fn is_plain_refusal(part: &Value) -> bool {
    part.as_object().is_some_and(|part| part.len() == 2)
        && part["type"] == "refusal"
        && part["refusal"].as_str().is_some_and(|text| !text.is_empty())
}

/// Returns the fields that have a value.
pub(super) fn own_fields(object: Map<String, Value>) -> Option<Map<String, Value>> {
    let own = object.into_iter().filter(|(_, value)| !is_empty_value(value));
    Some(own.collect::<Map<_, _>>()).filter(|own| !own.is_empty())
}

/// Keeps the fields that have a value with their message.
pub(super) fn keep_filled(body: &mut MessageBody, object: Map<String, Value>) {
    keep_own(body, NAME, own_fields(object).unwrap_or_default());
}
