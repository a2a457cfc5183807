use records::{EventId, JsonObject, NewMessage};
use serde_json::{Map, Value, json};

use crate::DropReason;
use crate::canonical::{Media, MediaSource, Reasoning, taken};
use crate::dialect::parsed::{self, Parsed, Said, as_object, event_id, take_text, text_part};

pub(super) fn parse(system: Vec<Value>, messages: Vec<Value>) -> Parsed {
    Parsed::of(system, messages, read)
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
    let mut metadata = match object.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    let mut reader = Reader {
        role,
        event_id: event_id(take_text(&mut object, "id")),
        name: take_text(&mut metadata, "name"),
        metadata: Some(metadata).filter(|metadata| !metadata.is_empty()),
        ..Reader::default()
    };
    for part in parts {
        reader.read(part);
    }
    if reader.messages.is_empty() || !reader.said.is_empty() {
        reader.end_step();
    }
    Ok(reader.messages)
}

/// Reads the parts of one message, step by step.
#[derive(Default)]
struct Reader {
    messages: Vec<NewMessage>,
    role: String,
    name: Option<String>,
    /// For the first step.
    event_id: Option<EventId>,
    metadata: Option<JsonObject>,
    said: Said,
    results: Vec<NewMessage>,
}

impl Reader {
    fn read(&mut self, part: Value) {
        let kind = part["type"].as_str().unwrap_or_default();
        let function = kind.strip_prefix("tool-").map(str::to_owned);
        let function = function.or_else(|| {
            part["toolName"].as_str().filter(|_| kind == "dynamic-tool").map(str::to_owned)
        });
        if let Some(function) = function {
            self.call(&function, part);
            return;
        }
        if !self.said.calls.is_empty() {
            self.end_step();
        }
        match kind {
            "step-start" => {}
            "text" => self.said.parts.push(text(part)),
            "reasoning" => self.said.reasoning.push(reasoning(&part)),
            _ => self.said.parts.push(other(part)),
        }
    }

    fn call(&mut self, function: &str, mut part: Value) {
        let id = part["toolCallId"].as_str().unwrap_or_default().to_owned();
        let mut call = parsed::call(&id, function, &part["input"]);
        let provided = taken(&mut part, "callProviderMetadata");
        if provided.is_object() {
            call["extra_content"] = extra_content(provided);
        }
        self.said.calls.push(call);
        let result = match part["state"].as_str() {
            Some("output-available") => parsed::result(&id, taken(&mut part, "output"), false),
            Some("output-error") => parsed::result(&id, taken(&mut part, "errorText"), true),
            Some("output-denied") => parsed::result(&id, "The call was denied.".into(), true),
            _ => return,
        };
        self.results.push(result);
    }

    fn end_step(&mut self) {
        let said = std::mem::take(&mut self.said);
        let mut body = said.into_body(&self.role, self.name.as_deref());
        body.metadata = self.metadata.take();
        self.messages.push(NewMessage { event_id: self.event_id.take(), ..body.into() });
        self.messages.append(&mut self.results);
    }
}

fn reasoning(part: &Value) -> Reasoning {
    let signed = &part["providerMetadata"]["anthropic"];
    if let Some(data) = signed["redactedData"].as_str() {
        return Reasoning::Redacted(data.to_owned());
    }
    let text = part["text"].as_str().unwrap_or_default().to_owned();
    Reasoning::Text { text, signature: signed["signature"].as_str().map(str::to_owned) }
}

/// Returns what providers say of a call, with a signature where it is stored.
fn extra_content(mut provided: Value) -> Value {
    if let Some(signature) = provided.pointer_mut("/google/thoughtSignature").map(Value::take) {
        provided["google"] = json!({"thought_signature": signature});
    }
    provided
}

/// Returns the stored form of a text; what providers say of it is kept beside.
fn text(part: Value) -> Value {
    let mut stored = text_part(part["text"].clone());
    if let Value::Object(mut fields) = part {
        fields.remove("state");
        parsed::keep_beside(&mut stored, fields);
    }
    stored
}

/// Returns the stored form of a file; any other part is kept as it is.
fn other(part: Value) -> Value {
    let Some(media) = file(&part) else {
        return part;
    };
    let mut stored = Value::from(media);
    if let Value::Object(mut fields) = part {
        fields.retain(|field, _| !["mediaType", "url", "filename"].contains(&field.as_str()));
        parsed::keep_beside(&mut stored, fields);
    }
    stored
}

fn file(part: &Value) -> Option<Media> {
    let text = |field: &str| part[field].as_str().filter(|_| part["type"] == "file");
    let (media_type, url) = (text("mediaType")?, text("url")?);
    let name = text("filename").map(str::to_owned);
    Some(Media { kind: Media::kind_of(media_type), source: MediaSource::of_url(url), name })
}
