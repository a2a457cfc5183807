use std::collections::HashMap;
use std::mem;

use serde_json::{Map, Value, json};

use crate::Repair;
use crate::canonical::{
    CanonicalMessage, ContentPart, Media, MediaKind, MediaSource, Reasoning, Role, interleave,
};
use crate::dialect::instructions;
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;

/// Writes messages; delays the last one, because the results of its calls become part of it.
#[derive(Debug, Default)]
pub(super) struct MessagesWriter {
    has_begun: bool,
    open: Option<OpenMessage>,
}

/// A message that still gets the results of its calls.
#[derive(Debug)]
struct OpenMessage {
    message: Value,
    /// The position of the part of each call.
    call_parts: HashMap<String, usize>,
}

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            if let Some(open) = &mut self.open {
                open.add_result(&mut message);
            }
            message.report_repairs(rendered);
            return;
        }
        self.finish(rendered);
        if matches!(message.role, Role::System | Role::Developer) {
            instructions::write_apart(&mut message, self.has_begun, rendered);
            return;
        }
        self.has_begun = true;
        let written = write_speech(&mut message);
        message.report_repairs(rendered);
        self.open = Some(written);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        rendered.messages.extend(self.open.take().map(|open| open.message));
    }
}

fn write_speech(message: &mut CanonicalMessage) -> OpenMessage {
    let reasoning = message.take_placed_reasoning().unwrap_or_else(|| {
        message.repairs.push(Repair::ReasoningRemoved);
        Vec::new()
    });
    let content = message.take_parts();
    let content = content.into_iter().map(|part| write_part(message, part)).collect();
    let mut parts = interleave(reasoning, content, write_reasoning);
    let mut call_parts = HashMap::with_capacity(message.calls.len());
    for call in &mut message.calls {
        call_parts.insert(call.id.clone(), parts.len());
        let (input, id) = (call.take_input(), mem::take(&mut call.id));
        let mut part = json!({
            "type": "dynamic-tool", "toolName": call.target.name, "toolCallId": id,
            "state": "input-available", "input": input,
        });
        if let Some(signature) = call.signature.take() {
            part["callProviderMetadata"] = json!({"google": {"thoughtSignature": signature}});
        }
        parts.push(part);
    }
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    let mut object = Map::new();
    object.insert("id".to_owned(), mem::take(&mut message.event_id).into());
    object.insert("role".to_owned(), role.into());
    if let Some(name) = message.name.take() {
        object.insert("metadata".to_owned(), json!({"name": name}));
    }
    object.insert("parts".to_owned(), parts.into());
    OpenMessage { message: object.into(), call_parts }
}

impl OpenMessage {
    fn add_result(&mut self, result: &mut CanonicalMessage) {
        let position = self.call_parts.get(&result.call_id);
        let part = position.and_then(|position| self.message["parts"].get_mut(*position));
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

fn write_reasoning(block: Reasoning) -> Value {
    match block {
        Reasoning::Text { text, signature: None } => json!({"type": "reasoning", "text": text}),
        Reasoning::Text { text, signature } => json!({
            "type": "reasoning", "text": text,
            "providerMetadata": {"anthropic": {"signature": signature}},
        }),
        Reasoning::Redacted(data) => json!({
            "type": "reasoning", "text": "",
            "providerMetadata": {"anthropic": {"redactedData": data}},
        }),
    }
}

fn write_part(message: &mut CanonicalMessage, part: ContentPart) -> Value {
    let media = match part {
        ContentPart::Text(text) => return json!({"type": "text", "text": text}),
        ContentPart::Media(media) => media,
    };
    write_file(&media).unwrap_or_else(|| {
        message.repairs.push(Repair::PartSerialised);
        json!({"type": "text", "text": Value::from(media).to_string()})
    })
}

/// Creates the part of an image, a sound or a file; `None` if only a provider has the bytes.
pub(crate) fn write_file(media: &Media) -> Option<Value> {
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
