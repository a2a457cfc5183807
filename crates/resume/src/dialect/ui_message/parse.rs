use std::mem;

use records::{EventId, JsonObject, MessageBody, NewMessage};
use serde_json::Value;

use super::own::{OwnFields, PartKind};
use super::{call, fields, reasoning, write};
use crate::DropReason;
use crate::canonical::{Media, MediaSource};
use crate::dialect::parsed::{
    EventIds, Parsed, as_object, content_from_parts, set_extra, take_text, text_part,
};
use crate::dialect::thinking;

pub(super) fn parse(system: Vec<Value>, messages: Vec<Value>) -> Parsed {
    let mut ids = EventIds::default();
    Parsed::from_transcript(system, messages, |message| read(message, &mut ids))
}

fn read(message: Value, ids: &mut EventIds) -> Result<Vec<NewMessage>, DropReason> {
    let mut object = as_object(message)?;
    let role = take_text(&mut object, "role").ok_or(DropReason::MissingRole)?;
    if !["system", "user", "assistant"].contains(&role.as_str()) {
        return Err(DropReason::unsupported_role(&role));
    }
    let Some(Value::Array(parts)) = object.remove("parts") else {
        return Err(DropReason::NullContent);
    };
    let (mut metadata, other) = match object.remove("metadata").unwrap_or_default() {
        Value::Object(fields) => (fields, Value::Null),
        other => (JsonObject::new(), other),
    };
    let event_id = ids.take(&mut object, "id");
    object.retain(|field, value| field != "id" && !value.is_null());
    let mut reader = Reader {
        role,
        event_id,
        name: take_text(&mut metadata, "name"),
        metadata: Some(metadata).filter(|metadata| !metadata.is_empty()),
        other_metadata: other,
        fields: object,
        ..Reader::default()
    };
    for part in parts {
        reader.read_part(part);
    }
    reader.end();
    Ok(reader.messages)
}

/// What the user said while an assistant's message was made.
struct Steering {
    id: String,
    parts: Vec<Value>,
}

impl Steering {
    /// Reads the part of it; `None` if the part is another one, or has more than a message of a user can keep.
    fn read(part: &Value) -> Option<Self> {
        if part["type"] != "steering-message" || part.as_object()?.len() != 3 {
            return None;
        }
        let parts = part["parts"].as_array()?;
        let is_content = |part: &Value| part["type"] == "text" || part["type"] == "file";
        let is_said = !parts.is_empty() && parts.iter().all(is_content);
        is_said.then_some(Self { id: part["id"].as_str()?.to_owned(), parts: parts.clone() })
    }
}

/// Reads the parts of one message.
///
/// A stored message holds its content before its calls. So each content part after a call begins a new
/// step, which becomes a separate message that continues the one before it. So does a call behind a `step-start`: the model has made it
/// when it had the results of those before.
#[derive(Default)]
struct Reader {
    messages: Vec<NewMessage>,
    role: String,
    name: Option<String>,
    /// The id for the message of the first step.
    event_id: Option<EventId>,
    /// The metadata for the message of the first step.
    metadata: Option<JsonObject>,
    /// The metadata that are no object, for the first step.
    other_metadata: Value,
    /// Other fields of the message, for the first step.
    fields: JsonObject,
    step: Step,
    /// A `step-start` behind calls, and what follows it, until content or a call shows that there is a next step.
    start: Vec<Value>,
}

/// The parts of one stored message.
#[derive(Default)]
struct Step {
    content: Vec<Value>,
    reasoning: Vec<Value>,
    calls: Vec<Value>,
    own: Vec<Value>,
    /// The results of the calls.
    results: Vec<NewMessage>,
}

impl Reader {
    fn read_part(&mut self, part: Value) {
        let kind = part["type"].as_str().unwrap_or_default();
        let function = match kind {
            "dynamic-tool" => part["toolName"].as_str(),
            _ => kind.strip_prefix("tool-"),
        };
        if let Some(function) = function.map(str::to_owned)
            && let Value::Object(part) = part
        {
            if !self.start.is_empty() {
                self.end_step();
            }
            self.step.add_call(call::read(&function, part));
            return;
        }
        if let Some(steering) = Steering::read(&part) {
            self.add_steering(steering);
            return;
        }
        if kind != "reasoning" && fields::is_kept(&part) {
            let starts = kind == "step-start" && !self.step.calls.is_empty();
            if starts || !self.start.is_empty() {
                self.start.push(part);
            } else {
                self.step.own.push(part);
            }
            return;
        }
        if !self.step.calls.is_empty() {
            self.end_step();
        }
        self.step.add_content(part);
    }

    /// Ends a step, behind which another one begins.
    fn end_step(&mut self) {
        let own = mem::take(&mut self.start);
        let step = mem::replace(&mut self.step, Step { own, ..Step::default() });
        let content = content_from_parts(step.content);
        let mut body = MessageBody::new(&self.role, self.name.as_deref(), content);
        set_extra(&mut body, "tool_calls", step.calls);
        set_extra(&mut body, "reasoning_content", thinking::into_stored(step.reasoning));
        body.metadata = self.metadata.take();
        let continues = !self.messages.is_empty();
        let own = OwnFields {
            parts: step.own,
            continues,
            steering: None,
            metadata: self.other_metadata.take(),
            fields: mem::take(&mut self.fields),
        };
        own.keep(&mut body);
        self.messages.push(NewMessage { event_id: self.event_id.take(), ..body.into() });
        self.messages.extend(step.results);
    }

    /// Ends the last step. The first one has the id and the metadata of the message, even if it has nothing else.
    fn end(&mut self) {
        self.step.own.append(&mut self.start);
        if self.messages.is_empty() || !self.step.is_empty() {
            self.end_step();
        }
    }

    /// Adds what the user said while the message was made, as a message of the user between two steps.
    fn add_steering(&mut self, steering: Steering) {
        self.end();
        let mut said = Step::default();
        steering.parts.into_iter().for_each(|part| said.add_content(part));
        let mut body = MessageBody::new("user", None, content_from_parts(said.content));
        let own = OwnFields {
            parts: said.own,
            continues: true,
            steering: Some(steering.id),
            ..OwnFields::default()
        };
        own.keep(&mut body);
        self.messages.push(body.into());
    }
}

impl Step {
    fn is_empty(&self) -> bool {
        self.content.is_empty()
            && self.reasoning.is_empty()
            && self.calls.is_empty()
            && self.own.is_empty()
    }

    fn add_call(&mut self, read: call::ReadCall) {
        self.calls.push(read.call);
        self.results.extend(read.result);
        self.own.push(PartKind::Call.entry(read.own));
    }

    fn add_content(&mut self, part: Value) {
        let mut fields = match part {
            Value::Object(fields) => fields,
            other => {
                self.content.push(other);
                self.own.push(PartKind::Content.entry(JsonObject::new()));
                return;
            }
        };
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        if kind == "reasoning" {
            self.add_reasoning(fields);
            return;
        }
        let content = match kind.as_str() {
            "text" if fields.get("text").is_some_and(Value::is_string) => {
                text_part(fields.remove("text").unwrap_or_default())
            }
            "file" => match read_file(&mut fields) {
                Some(media) => media.into(),
                None => mem::take(&mut fields).into(),
            },
            _ => mem::take(&mut fields).into(),
        };
        fields.remove("type");
        self.content.push(content);
        self.own.push(PartKind::Content.entry(fields));
    }

    /// Adds reasoning; one that is empty is no reasoning, but a part.
    fn add_reasoning(&mut self, mut fields: JsonObject) {
        let Some(mut block) = reasoning::read(&mut fields) else {
            self.own.push(fields.into());
            return;
        };
        thinking::place(&mut block, self.content.len(), self.calls.len());
        self.reasoning.push(block);
        fields.remove("type");
        self.own.push(PartKind::Reasoning.entry(fields));
    }
}

/// Reads a file, and leaves the fields that are not stored with it.
fn read_file(fields: &mut JsonObject) -> Option<Media> {
    let text = |field: &str| fields.get(field).and_then(Value::as_str);
    let (media_type, url) = (text("mediaType")?.to_owned(), text("url")?);
    let name = text("filename").map(str::to_owned);
    let media = Media::new(Media::kind_of(&media_type), MediaSource::from_url(url), name);
    let media = media.with_url_type(Some(&media_type));
    fields.retain(|field, _| !["mediaType", "url", "filename"].contains(&field.as_str()));
    // The stored part may not say it, or in another way.
    if write::write_file(&media).is_some_and(|file| file["mediaType"] != *media_type) {
        fields.insert("mediaType".to_owned(), media_type.into());
    }
    Some(media)
}
