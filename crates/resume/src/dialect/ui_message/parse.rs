use std::collections::HashSet;

use records::{EventId, JsonObject, NewMessage};
use serde_json::{Value, json};

use crate::DropReason;
use crate::canonical::{Media, MediaSource, Reasoning, take_field, take_object};
use crate::dialect::parsed::{
    self, MessageBuilder, Parsed, as_object, event_id, take_text, text_part,
};

pub(super) fn parse(system: Vec<Value>, messages: Vec<Value>) -> Parsed {
    // Of several messages with one id, the first one has it.
    let mut ids = HashSet::new();
    Parsed::from_transcript(system, messages, |message| {
        let mut read = read(message)?;
        for message in &mut read {
            message.event_id.take_if(|id| !ids.insert(id.clone()));
        }
        Ok(read)
    })
}

fn read(message: Value) -> Result<Vec<NewMessage>, DropReason> {
    let mut object = as_object(message)?;
    let role = take_text(&mut object, "role").ok_or(DropReason::MissingRole)?;
    if !["system", "user", "assistant"].contains(&role.as_str()) {
        return Err(DropReason::unsupported_role(&role));
    }
    let Some(Value::Array(parts)) = object.remove("parts") else {
        return Err(DropReason::NullContent);
    };
    let mut metadata = take_object(&mut object, "metadata");
    let mut reader = Reader {
        role,
        event_id: event_id(take_text(&mut object, "id")),
        name: take_text(&mut metadata, "name"),
        metadata: Some(metadata).filter(|metadata| !metadata.is_empty()),
        ..Reader::default()
    };
    for part in parts {
        reader.read_part(part);
    }
    if reader.messages.is_empty() || !reader.builder.is_empty() {
        reader.end_step();
    }
    Ok(reader.messages)
}

/// Reads the parts of one message.
///
/// A stored message holds its content before its calls. So each content part after a call begins a new
/// step, which becomes a separate message.
#[derive(Default)]
struct Reader {
    messages: Vec<NewMessage>,
    role: String,
    name: Option<String>,
    /// The id for the message of the first step.
    event_id: Option<EventId>,
    /// The metadata for the message of the first step.
    metadata: Option<JsonObject>,
    builder: MessageBuilder,
    /// The results of the calls in the current step.
    results: Vec<NewMessage>,
}

impl Reader {
    fn read_part(&mut self, part: Value) {
        let kind = part["type"].as_str().unwrap_or_default();
        let function = kind.strip_prefix("tool-").map(str::to_owned);
        let function = function.or_else(|| {
            part["toolName"].as_str().filter(|_| kind == "dynamic-tool").map(str::to_owned)
        });
        if let Some(function) = function {
            self.read_call(&function, part);
            return;
        }
        if !self.builder.calls.is_empty() {
            self.end_step();
        }
        match kind {
            "step-start" => {}
            "text" => self.builder.parts.push(read_text(part)),
            "reasoning" => self.builder.push_reasoning(read_reasoning(&part)),
            _ => self.builder.parts.push(read_other(part)),
        }
    }

    fn read_call(&mut self, function: &str, mut part: Value) {
        let id = part["toolCallId"].as_str().unwrap_or_default().to_owned();
        let mut call = parsed::stored_call(&id, function, &part["input"]);
        let provider_metadata = take_field(&mut part, "callProviderMetadata");
        if provider_metadata.is_object() {
            call["extra_content"] = extra_content(provider_metadata);
        }
        self.builder.calls.push(call);
        let result = match part["state"].as_str() {
            Some("output-available") => {
                parsed::stored_result(&id, take_field(&mut part, "output"), false)
            }
            Some("output-error") => {
                parsed::stored_result(&id, take_field(&mut part, "errorText"), true)
            }
            Some("output-denied") => {
                parsed::stored_result(&id, "The call was denied.".into(), true)
            }
            _ => return,
        };
        self.results.push(result);
    }

    fn end_step(&mut self) {
        let builder = std::mem::take(&mut self.builder);
        let mut body = builder.into_body(&self.role, self.name.as_deref());
        body.metadata = self.metadata.take();
        self.messages.push(NewMessage { event_id: self.event_id.take(), ..body.into() });
        self.messages.append(&mut self.results);
    }
}

fn read_reasoning(part: &Value) -> Reasoning {
    let metadata = &part["providerMetadata"]["anthropic"];
    if let Some(data) = metadata["redactedData"].as_str() {
        return Reasoning::Redacted(data.to_owned());
    }
    let text = part["text"].as_str().unwrap_or_default().to_owned();
    Reasoning::Text { text, signature: metadata["signature"].as_str().map(str::to_owned) }
}

/// Converts the provider metadata of a call into `extra_content`, with the signature in its stored field.
fn extra_content(mut provider_metadata: Value) -> Value {
    if let Some(signature) =
        provider_metadata.pointer_mut("/google/thoughtSignature").map(Value::take)
    {
        provider_metadata["google"] = json!({"thought_signature": signature});
    }
    provider_metadata
}

/// Returns the content part to store for a text, with its provider metadata.
fn read_text(part: Value) -> Value {
    let mut stored = text_part(part["text"].clone());
    if let Value::Object(mut fields) = part {
        fields.remove("state");
        parsed::keep_other_fields(&mut stored, fields);
    }
    stored
}

/// Returns the content part to store for a file; any other part stays unchanged.
fn read_other(part: Value) -> Value {
    let Some(media) = read_file(&part) else {
        return part;
    };
    let mut stored = Value::from(media);
    if let Value::Object(mut fields) = part {
        fields.retain(|field, _| !["mediaType", "url", "filename"].contains(&field.as_str()));
        parsed::keep_other_fields(&mut stored, fields);
    }
    stored
}

fn read_file(part: &Value) -> Option<Media> {
    let text = |field: &str| part[field].as_str().filter(|_| part["type"] == "file");
    let (media_type, url) = (text("mediaType")?, text("url")?);
    let name = text("filename").map(str::to_owned);
    Some(Media { kind: Media::kind_of(media_type), source: MediaSource::from_url(url), name })
}
