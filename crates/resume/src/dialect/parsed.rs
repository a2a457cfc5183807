use records::{EventId, JsonObject, MessageBody, NewMessage};
use serde_json::{Map, Value};

use crate::canonical::Reasoning;
use crate::{DropReason, Dropped};

/// What a transcript in a dialect says, ready to be stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parsed {
    /// The messages.
    pub messages: Vec<NewMessage>,
    /// Where each of them stands in the transcript.
    pub places: Vec<Place>,
    /// What was left out, by position in the transcript.
    pub dropped: Vec<Dropped>,
}

/// A place in a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A position among the instructions that stand apart.
    System(usize),
    /// A position among the messages.
    Message(usize),
}

impl Parsed {
    /// Reads a transcript, message by message, behind the instructions that stand apart: blocks
    /// with a text, or texts.
    pub(super) fn of<M: IntoIterator<Item = NewMessage>>(
        system: Vec<Value>,
        messages: Vec<Value>,
        mut read: impl FnMut(Value) -> Result<M, DropReason>,
    ) -> Self {
        let mut parsed = Self::default();
        for (index, block) in system.into_iter().enumerate() {
            let text = block.get("text").cloned().unwrap_or(block);
            parsed.add(Place::System(index), MessageBody::new("system", None, text).into());
        }
        for (index, message) in messages.into_iter().enumerate() {
            match read(message) {
                Ok(found) => found.into_iter().for_each(|it| parsed.add(Place::Message(index), it)),
                Err(reason) => parsed.drop(index, reason),
            }
        }
        parsed
    }

    /// Adds a message that was read at a place.
    pub(super) fn add(&mut self, place: Place, message: NewMessage) {
        self.messages.push(message);
        self.places.push(place);
    }

    pub(super) fn drop(&mut self, index: usize, reason: DropReason) {
        self.dropped.push(Dropped { index, sequence: None, reason });
    }
}

/// Reads messages in the fields in which they are stored.
pub(super) fn all(messages: Vec<Value>) -> Parsed {
    Parsed::of(Vec::new(), messages, |message| stored(message).map(Some))
}

/// Reads a message in the fields in which it is stored; those it has besides become metadata.
pub(super) fn stored(message: Value) -> Result<NewMessage, DropReason> {
    let mut object = as_object(message)?;
    let role = match object.remove("role") {
        None | Some(Value::Null) => return Err(DropReason::MissingRole),
        Some(Value::String(role)) if !role.is_empty() => role,
        Some(other) => return Err(DropReason::unsupported_role(&other.to_string())),
    };
    let name = take_text(&mut object, "name");
    let content = object.remove("content").unwrap_or_default();
    let extra = MessageBody::free_extra();
    let extra: JsonObject =
        extra.filter_map(|key| Some((key.to_owned(), object.remove(key)?))).collect();
    let metadata = (!object.is_empty()).then_some(object);
    Ok(MessageBody { role, name, content, timestamp: None, metadata, extra }.into())
}

pub(super) fn as_object(message: Value) -> Result<Map<String, Value>, DropReason> {
    match message {
        Value::Object(object) => Ok(object),
        _ => Err(DropReason::NotAnObject),
    }
}

/// Takes a text that is not empty.
pub(super) fn take_text(object: &mut Map<String, Value>, field: &str) -> Option<String> {
    match object.remove(field)? {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// What a message says, as far as it has been read.
#[derive(Default)]
pub(super) struct Said {
    pub(super) parts: Vec<Value>,
    pub(super) calls: Vec<Value>,
    pub(super) reasoning: Vec<Reasoning>,
}

impl Said {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.calls.is_empty() && self.reasoning.is_empty()
    }

    /// Returns the stored form.
    pub(super) fn into_body(self, role: &str, name: Option<&str>) -> MessageBody {
        let mut body = MessageBody::new(role, name, content(self.parts));
        put(&mut body, "tool_calls", self.calls);
        put(&mut body, "reasoning_content", Reasoning::stored(self.reasoning));
        body
    }
}

/// Returns the content that is stored of several parts.
pub(super) fn content(mut parts: Vec<Value>) -> Value {
    let only_text = match &mut parts[..] {
        [] => Some(Value::Null),
        [Value::Object(part)]
            if part.len() == 2 && part.get("type").is_some_and(|it| it == "text") =>
        {
            part.remove("text")
        }
        _ => None,
    };
    only_text.unwrap_or_else(|| parts.into())
}

/// Returns the content part of a text.
pub(super) fn text_part(text: impl Into<Value>) -> Value {
    Value::from_iter([("type", Value::from("text")), ("text", text.into())])
}

/// Keeps fields of a part in its stored form, where they have no meaning, beside what has one.
pub(super) fn keep_beside(stored: &mut Value, fields: Map<String, Value>) {
    for (field, value) in fields {
        if !value.is_null() && stored.get(&field).is_none() {
            stored[field] = value;
        }
    }
}

/// Returns the stored form of a call of a function; arguments that are not text are given as their
/// JSON text.
pub(super) fn call(id: &str, name: &str, arguments: &Value) -> Value {
    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    serde_json::json!({
        "id": id, "type": "function", "function": {"name": name, "arguments": arguments},
    })
}

/// Returns the message that holds the result of a call.
pub(super) fn result(call_id: &str, content: Value, is_error: bool) -> NewMessage {
    let mut body = MessageBody::new("tool", None, content);
    if is_error {
        let content = body.content.take();
        let response = serde_json::json!({
            "tool_call_id": call_id, "role": "tool", "content": content, "is_error": true,
        });
        body.extra.insert("tool_responses".to_owned(), vec![response].into());
    } else {
        body.extra.insert("tool_call_id".to_owned(), call_id.into());
    }
    body.into()
}

/// Puts a field beside a body, unless it says nothing.
pub(super) fn put(body: &mut MessageBody, field: &str, value: impl Into<Value>) {
    let value = value.into();
    if !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()) {
        body.extra.insert(field.to_owned(), value);
    }
}

/// Reads the id of a message, if it can be one here.
pub(super) fn event_id(text: Option<String>) -> Option<EventId> {
    text.and_then(|text| EventId::parse(text).ok())
}
