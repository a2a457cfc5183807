use serde_json::{Value, json};

use crate::canonical::{
    CanonicalMessage, ContentPart, Media, MediaKind, MediaSource, Reasoning, Role, interleave,
};
use crate::dialect::pipeline::MessageWriter;
use crate::dialect::speaker;
use crate::rendered::Rendered;
use crate::{DropReason, Repair};

/// Writes each message separately, and the instructions apart.
#[derive(Debug, Default)]
pub(super) struct MessagesWriter {
    /// Whether a message was written, so that the position of a later instruction is lost.
    has_begun: bool,
}

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        if matches!(message.role, Role::System | Role::Developer) {
            if self.has_begun {
                message.repairs.push(Repair::InstructionHoisted);
            }
            rendered.system.extend(write_instruction(&mut message));
            message.report_repairs(rendered);
            return;
        }
        self.has_begun = true;
        let parts = match message.role {
            Role::Tool => vec![write_response(&mut message)],
            _ => write_speech(&mut message),
        };
        if parts.is_empty() {
            rendered.drop(message.origin, DropReason::OnlyReasoning);
            return;
        }
        let mut written = json!({"role": message.role.as_str(), "parts": parts});
        if let Some(name) = message.name.take() {
            written["name"] = name.into();
        }
        message.report_repairs(rendered);
        rendered.messages.push(written);
    }
}

fn write_instruction(message: &mut CanonicalMessage) -> Vec<Value> {
    let mut parts = message.take_parts();
    speaker::prefix_with_name(message, &mut parts, "");
    parts.into_iter().map(|part| text_part(&message.part_text(part))).collect()
}

fn write_response(message: &mut CanonicalMessage) -> Value {
    json!({
        "type": "tool_call_response", "id": message.call_id, "response": message.content.take(),
    })
}

/// Takes the reasoning, the content and the calls of a message as parts.
fn write_speech(message: &mut CanonicalMessage) -> Vec<Value> {
    let mut reasoning = message.take_placed_reasoning().unwrap_or_else(|| {
        message.repairs.push(Repair::ReasoningRemoved);
        Vec::new()
    });
    let count = reasoning.len();
    reasoning.retain(|placed| is_readable(&placed.reasoning));
    if reasoning.len() < count {
        message.repairs.push(Repair::ReasoningRemoved);
    }
    let content = message.take_parts();
    let content = content.into_iter().map(|part| write_part(message, part)).collect();
    let mut parts = interleave(reasoning, content, write_reasoning);
    parts.extend(message.calls.iter_mut().map(|call| {
        let arguments = call.take_input();
        json!({
            "type": "tool_call", "id": call.id, "name": call.target.name, "arguments": arguments,
        })
    }));
    parts
}

/// Returns whether reasoning has a text; what a provider encrypted means nothing in a trace.
fn is_readable(reasoning: &Reasoning) -> bool {
    matches!(reasoning, Reasoning::Text { text, .. } if !text.is_empty())
}

fn write_reasoning(reasoning: Reasoning) -> Value {
    let (Reasoning::Text { text, .. } | Reasoning::Redacted(text)) = reasoning;
    json!({"type": "reasoning", "content": text})
}

fn write_part(message: &mut CanonicalMessage, part: ContentPart) -> Value {
    match part {
        ContentPart::Text(text) => text_part(&text),
        ContentPart::Media(media) => {
            // The lowering has removed and reported the names of inline media.
            if media.name.is_some() {
                message.repairs.push(Repair::PartFieldsRemoved);
            }
            write_media(&media)
        }
    }
}

fn write_media(media: &Media) -> Value {
    let modality = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Audio => "audio",
        MediaKind::File => "document",
    };
    match &media.source {
        MediaSource::Data { media_type, data } => {
            let is_video = media_type.starts_with("video/");
            let modality = if is_video { "video" } else { modality };
            json!({"type": "blob", "mime_type": media_type, "modality": modality, "content": data})
        }
        MediaSource::Url(url) => {
            let mut written = json!({"type": "uri", "modality": modality, "uri": url});
            if let Some(said) = &media.url_type {
                written["mime_type"] = said.as_str().into();
            }
            written
        }
        MediaSource::Id { id, .. } => json!({"type": "file", "modality": modality, "file_id": id}),
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "content": text})
}
