use std::collections::HashSet;

use records::{EventId, JsonObject, MessageBody, NewMessage};
use serde_json::{Map, Value};

use crate::canonical::{CONTINUED, PlacedReasoning, Reasoning, take_object};
use crate::{DropReason, Dropped};

/// A transcript, parsed from a dialect and ready to be stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parsed {
    /// The messages.
    pub messages: Vec<NewMessage>,
    /// The position of each message in the transcript.
    pub positions: Vec<TranscriptPosition>,
    /// The messages that were dropped, by position in the transcript.
    pub dropped: Vec<Dropped>,
}

/// A position in a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TranscriptPosition {
    /// A position in the list of system instructions.
    System(usize),
    /// A position in the list of messages.
    Message(usize),
}

impl Parsed {
    /// Parses the system instructions, then the messages one by one.
    ///
    /// `read` converts one message of the dialect
    /// into any number of stored messages.
    pub(super) fn from_transcript<M: IntoIterator<Item = NewMessage>>(
        system: Vec<Value>,
        messages: Vec<Value>,
        mut read: impl FnMut(Value) -> Result<M, DropReason>,
    ) -> Self {
        let mut parsed = Self::from_system(system);
        for (index, message) in messages.into_iter().enumerate() {
            match read(message) {
                Ok(read) => {
                    let position = TranscriptPosition::Message(index);
                    read.into_iter().for_each(|message| parsed.add(position, message));
                }
                Err(reason) => parsed.drop(index, reason),
            }
        }
        parsed
    }

    /// The same for the API of a provider, whose system instructions are blocks: what only its dialect has in them is kept.
    pub(super) fn from_blocks<M: IntoIterator<Item = NewMessage>>(
        dialect: &str,
        system: Vec<Value>,
        messages: Vec<Value>,
        read: impl FnMut(Value) -> Result<M, DropReason>,
    ) -> Self {
        let fields: Vec<_> = system.iter().map(fields_beside_text).collect();
        let mut parsed = Self::from_transcript(system, messages, read);
        for (instruction, fields) in parsed.messages.iter_mut().zip(fields) {
            keep_unread(&mut instruction.body, dialect, fields);
        }
        parsed
    }

    /// Parses the system instructions: each is a text, or a block with a text.
    pub(super) fn from_system(system: Vec<Value>) -> Self {
        let mut parsed = Self::default();
        for (index, block) in system.into_iter().enumerate() {
            let text = block.get("text").cloned().unwrap_or(block);
            let body = MessageBody::new("system", None, text);
            parsed.add(TranscriptPosition::System(index), body.into());
        }
        parsed
    }

    /// Adds a message that was read at a position.
    pub(super) fn add(&mut self, position: TranscriptPosition, message: NewMessage) {
        self.messages.push(message);
        self.positions.push(position);
    }

    /// Reports that the message at a position was dropped.
    pub(super) fn drop(&mut self, index: usize, reason: DropReason) {
        self.dropped.push(Dropped { index, sequence: None, reason });
    }
}

/// Reads a message that has the fields of a stored message; its other fields are kept for its dialect.
pub(super) fn read_stored_fields(dialect: &str, message: Value) -> Result<NewMessage, DropReason> {
    let mut object = as_object(message)?;
    let role = match object.remove("role") {
        None | Some(Value::Null) => return Err(DropReason::MissingRole),
        Some(Value::String(role)) if !role.is_empty() => role,
        Some(other) => return Err(DropReason::unsupported_role(&other.to_string())),
    };
    let name = take_text(&mut object, "name");
    let content = object.remove("content").unwrap_or_default();
    let extra = MessageBody::free_extra().filter(|field| !MessageBody::NATIVE.contains(field));
    let extra: JsonObject =
        extra.filter_map(|key| Some((key.to_owned(), object.remove(key)?))).collect();
    let mut body = MessageBody { role, name, content, extra, ..MessageBody::default() };
    keep_unread(&mut body, dialect, object);
    Ok(body.into())
}

/// Returns the fields of a block with a text but for the text and the type.
fn fields_beside_text(block: &Value) -> JsonObject {
    let mut fields = block.as_object().cloned().unwrap_or_default();
    if fields.remove("text").is_none() {
        // The block is the content as it is.
        return JsonObject::new();
    }
    fields.remove("type");
    fields
}

/// Keeps fields of a message that only its dialect has, but for those that are null.
pub(super) fn keep_unread(body: &mut MessageBody, dialect: &str, mut fields: JsonObject) {
    fields.retain(|_, value| !value.is_null());
    keep_own(body, dialect, fields);
}

/// Marks a message as one that continues the message with an id; returns whether it was not marked already.
pub(crate) fn mark_continued(body: &mut MessageBody, dialect: &str, id: &EventId) -> bool {
    let mut provider = take_object(&mut body.extra, MessageBody::PROVIDER);
    let mut own = take_object(&mut provider, dialect);
    let is_new = !own.contains_key(CONTINUED);
    if is_new {
        own.insert(CONTINUED.to_owned(), id.as_str().into());
    }
    keep_own(body, dialect, own);
    is_new
}

/// Keeps the fields that only the dialect of a message has. An edit of its content or name removes them.
pub(super) fn keep_own(body: &mut MessageBody, dialect: &str, fields: JsonObject) {
    if !fields.is_empty() {
        let kept = JsonObject::from_iter([(dialect.to_owned(), fields.into())]);
        body.extra.insert(MessageBody::PROVIDER.to_owned(), kept.into());
    }
}

pub(super) fn as_object(message: Value) -> Result<Map<String, Value>, DropReason> {
    match message {
        Value::Object(object) => Ok(object),
        _ => Err(DropReason::NotAnObject),
    }
}

/// Removes a field and returns its text, unless it is empty or not a text.
pub(super) fn take_text(object: &mut Map<String, Value>, field: &str) -> Option<String> {
    match object.remove(field)? {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// Collects the content parts, calls and reasoning of one message while it is read.
#[derive(Default)]
pub(super) struct MessageBuilder {
    pub(super) parts: Vec<Value>,
    pub(super) calls: Vec<Value>,
    pub(super) reasoning: Vec<PlacedReasoning>,
}

impl MessageBuilder {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.calls.is_empty() && self.reasoning.is_empty()
    }

    /// Adds reasoning after the content parts so far.
    pub(super) fn push_reasoning(&mut self, reasoning: Reasoning) {
        self.reasoning.push(PlacedReasoning::after(self.parts.len(), reasoning));
    }

    /// Returns the message body to store.
    pub(super) fn into_body(self, role: &str, name: Option<&str>) -> MessageBody {
        let mut body = MessageBody::new(role, name, content_from_parts(self.parts));
        set_extra(&mut body, "tool_calls", self.calls);
        set_extra(&mut body, "reasoning_content", PlacedReasoning::into_stored(self.reasoning));
        body
    }
}

/// Returns the content to store for parts: null for none, a text for one plain text part.
pub(super) fn content_from_parts(mut parts: Vec<Value>) -> Value {
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

/// Adds fields that only the original dialect understands to the stored content part, but for those that are null.
pub(super) fn keep_other_fields(stored: &mut Value, mut fields: Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
    add_missing(stored, fields);
}

/// Returns what is stored for each of `count` items, in order; null for each of them if as many are not stored.
pub(super) fn aligned(stored: Vec<Value>, count: usize) -> impl Iterator<Item = Value> {
    let stored = if stored.len() == count { stored } else { Vec::new() };
    stored.into_iter().chain(std::iter::repeat(Value::Null))
}

/// Adds fields that the object does not have.
pub(super) fn add_missing(object: &mut Value, fields: Map<String, Value>) {
    for (field, value) in fields {
        if object.get(&field).is_none() {
            object[field] = value;
        }
    }
}

/// Returns the function call to store; arguments that are not text become their JSON text.
pub(super) fn stored_call(id: &str, name: &str, arguments: &Value) -> Value {
    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    serde_json::json!({
        "id": id, "type": "function", "function": {"name": name, "arguments": arguments},
    })
}

/// Returns the message to store for the result of a call.
pub(super) fn stored_result(call_id: &str, content: Value, is_error: bool) -> NewMessage {
    stored_result_with(call_id, content, is_error, None)
}

/// The same for a result with further fields of its provider, which are stored in `extra_content`.
pub(super) fn stored_result_with(
    call_id: &str,
    content: Value,
    is_error: bool,
    extra_content: Option<Value>,
) -> NewMessage {
    let mut body = MessageBody::new("tool", None, content);
    // Only an entry of `tool_responses` has a field for the mark of an error, and for further fields.
    if is_error || extra_content.is_some() {
        let content = body.content.take();
        let mut response = serde_json::json!({
            "tool_call_id": call_id, "role": "tool", "content": content,
        });
        let mark = is_error.then_some(("is_error", true.into()));
        let extra = extra_content.map(|extra| ("extra_content", extra));
        for (field, value) in mark.into_iter().chain(extra) {
            response[field] = value;
        }
        body.extra.insert("tool_responses".to_owned(), vec![response].into());
    } else {
        body.extra.insert("tool_call_id".to_owned(), call_id.into());
    }
    body.into()
}

/// Sets an extra field of a body, unless the value is null or an empty list.
pub(super) fn set_extra(body: &mut MessageBody, field: &str, value: impl Into<Value>) {
    let value = value.into();
    if !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()) {
        body.extra.insert(field.to_owned(), value);
    }
}

/// The ids of the messages of a transcript; of several messages with one id, the first one has it.
#[derive(Debug, Default)]
pub(super) struct EventIds(HashSet<EventId>);

impl EventIds {
    /// Takes the id of a message from a field. An id that cannot be its event id stays there.
    pub(super) fn take(&mut self, object: &mut JsonObject, field: &str) -> Option<EventId> {
        let id = EventId::parse(object.get(field)?.as_str()?).ok()?;
        self.0.insert(id.clone()).then(|| {
            object.shift_remove(field);
            id
        })
    }
}

/// Parses the id of a message; `None` if it is not a valid event id.
pub(super) fn event_id(text: Option<String>) -> Option<EventId> {
    text.and_then(|text| EventId::parse(text).ok())
}
