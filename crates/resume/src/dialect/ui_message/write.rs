use std::collections::HashMap;
use std::mem;

use serde_json::{Map, Value, json};

use crate::Repair;
use crate::canonical::{Canonical, Media, MediaKind, MediaSource, Part, Reasoning, Role};
use crate::dialect::instructions;
use crate::dialect::pipeline::Writer;
use crate::rendered::Rendered;

/// Writes messages; holds back the one whose calls are being answered.
#[derive(Debug, Default)]
pub(super) struct Messages {
    has_begun: bool,
    open: Option<Open>,
}

/// A message, and where the part of each of its calls is.
#[derive(Debug)]
struct Open {
    message: Value,
    places: HashMap<String, usize>,
}

impl Writer for Messages {
    fn write(&mut self, mut message: Canonical, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            if let Some(open) = &mut self.open {
                open.answer(&mut message);
            }
            message.report(rendered);
            return;
        }
        self.finish(rendered);
        if matches!(message.role, Role::System | Role::Developer) {
            instructions::write(&mut message, self.has_begun, rendered);
            return;
        }
        self.has_begun = true;
        let written = said(&mut message);
        message.report(rendered);
        self.open = Some(written);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        rendered.messages.extend(self.open.take().map(|open| open.message));
    }
}

fn said(message: &mut Canonical) -> Open {
    let mut parts = reasoning(message);
    for part in message.take_parts() {
        parts.push(part_of(message, part));
    }
    let mut places = HashMap::with_capacity(message.calls.len());
    for call in &mut message.calls {
        places.insert(call.id.clone(), parts.len());
        let (input, id) = (call.take_input(), mem::take(&mut call.id));
        parts.push(json!({
            "type": "dynamic-tool", "toolName": call.target.name, "toolCallId": id,
            "state": "input-available", "input": input,
        }));
    }
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    let mut object = Map::new();
    object.insert("id".to_owned(), mem::take(&mut message.event_id).into());
    object.insert("role".to_owned(), role.into());
    if let Some(name) = message.name.take() {
        object.insert("metadata".to_owned(), json!({"name": name}));
    }
    object.insert("parts".to_owned(), parts.into());
    Open { message: object.into(), places }
}

impl Open {
    fn answer(&mut self, result: &mut Canonical) {
        let place = self.places.get(&result.call_id);
        let part = place.and_then(|place| self.message["parts"].get_mut(*place));
        let Some(part) = part else { return };
        if result.is_error {
            part["state"] = "output-error".into();
            part["errorText"] = result.take_text().into();
        } else {
            part["state"] = "output-available".into();
            part["output"] = result.content.take();
        }
    }
}

fn reasoning(message: &mut Canonical) -> Vec<Value> {
    let Some(blocks) = message.take_reasoning() else {
        message.repairs.push(Repair::ReasoningRemoved);
        return Vec::new();
    };
    let written = blocks.into_iter().map(|block| match block {
        Reasoning::Text { text, signature: None } => json!({"type": "reasoning", "text": text}),
        Reasoning::Text { text, signature } => json!({
            "type": "reasoning", "text": text,
            "providerMetadata": {"anthropic": {"signature": signature}},
        }),
        Reasoning::Redacted(data) => json!({
            "type": "reasoning", "text": "",
            "providerMetadata": {"anthropic": {"redactedData": data}},
        }),
    });
    written.collect()
}

fn part_of(message: &mut Canonical, part: Part) -> Value {
    let media = match part {
        Part::Text(text) => return json!({"type": "text", "text": text}),
        Part::Media(media) => media,
    };
    file(&media).unwrap_or_else(|| {
        message.repairs.push(Repair::PartSerialised);
        json!({"type": "text", "text": Value::from(media).to_string()})
    })
}

/// Returns the part of a picture, a sound or a file, unless only a provider has it.
pub(crate) fn file(media: &Media) -> Option<Value> {
    let url = media.source.url()?;
    let mut file = json!({"type": "file", "mediaType": media_type(media), "url": url});
    if let Some(name) = &media.name {
        file["filename"] = name.as_str().into();
    }
    Some(file)
}

fn media_type(media: &Media) -> &str {
    match (&media.source, media.kind) {
        (MediaSource::Data { media_type, .. }, _) => media_type,
        (_, MediaKind::Image) => "image/*",
        (_, MediaKind::Audio) => "audio/*",
        (_, MediaKind::File) => "application/octet-stream",
    }
}
