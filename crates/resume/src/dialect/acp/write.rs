use serde_json::{Map, Value, json};

use crate::canonical::{
    CanonicalMessage, ContentPart, Media, MediaKind, MediaSource, Reasoning, Role,
};
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;
use crate::{DropReason, Repair};

/// Writes the updates of each message separately.
#[derive(Debug)]
pub(super) struct UpdatesWriter;

impl MessageWriter for UpdatesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        let updates = match message.role {
            Role::System | Role::Developer => {
                let reason = DropReason::unsupported_role(message.role.as_str());
                rendered.drop(message.origin, reason);
                return;
            }
            Role::Tool => vec![write_result(&mut message)],
            _ => write_speech(&mut message),
        };
        message.report_repairs(rendered);
        rendered.messages.extend(updates);
    }
}

fn write_speech(message: &mut CanonicalMessage) -> Vec<Value> {
    let name = message.name.take();
    let chunk =
        if message.role == Role::Assistant { "agent_message_chunk" } else { "user_message_chunk" };
    let mut updates = Vec::new();
    for content in write_reasoning(message) {
        updates.push(self::chunk("agent_thought_chunk", &content, message, name.as_deref()));
    }
    for part in message.take_parts() {
        let content = write_content(message, part);
        updates.push(self::chunk(chunk, &content, message, name.as_deref()));
    }
    let mut meta = meta(name.as_deref());
    meta.insert("messageId".to_owned(), message.event_id.as_str().into());
    for call in &mut message.calls {
        let input = call.take_input();
        updates.push(json!({
            "sessionUpdate": "tool_call", "toolCallId": call.id, "title": call.target.name,
            "kind": "other", "status": "pending", "rawInput": input, "_meta": meta,
        }));
    }
    updates
}

fn chunk(kind: &str, content: &Value, message: &CanonicalMessage, name: Option<&str>) -> Value {
    let mut update =
        json!({"sessionUpdate": kind, "messageId": message.event_id, "content": content});
    let meta = meta(name);
    if !meta.is_empty() {
        update["_meta"] = meta.into();
    }
    update
}

/// Returns the field `_meta`, with the name of the speaker.
fn meta(name: Option<&str>) -> Map<String, Value> {
    name.map(|name| ("name".to_owned(), name.into())).into_iter().collect()
}

fn write_reasoning(message: &mut CanonicalMessage) -> Vec<Value> {
    let mut thoughts = Vec::new();
    let mut is_whole = true;
    for block in
        message.take_reasoning().unwrap_or_else(|| vec![Reasoning::Redacted(String::new())])
    {
        match block {
            Reasoning::Text { text, signature } => {
                is_whole &= signature.is_none();
                if !text.is_empty() {
                    thoughts.push(json!({"type": "text", "text": text}));
                }
            }
            Reasoning::Redacted(_) => is_whole = false,
        }
    }
    if !is_whole {
        message.repairs.push(Repair::ReasoningRemoved);
    }
    thoughts
}

fn write_result(message: &mut CanonicalMessage) -> Value {
    let status = if message.is_error { "failed" } else { "completed" };
    let output = message.content.clone();
    let parts = message.take_parts();
    let mut shown = Vec::with_capacity(parts.len());
    for part in parts {
        let content = write_content(message, part);
        shown.push(json!({"type": "content", "content": content}));
    }
    // `rawOutput` holds the whole content, so that these repairs lose nothing.
    message.repairs.retain(|repair| {
        !matches!(
            repair,
            Repair::ContentSerialised
                | Repair::PartSerialised
                | Repair::PartFieldsRemoved
                | Repair::RefusalGivenAsText
        )
    });
    json!({
        "sessionUpdate": "tool_call_update", "toolCallId": message.call_id, "status": status,
        "content": shown, "rawOutput": output,
    })
}

fn write_content(message: &mut CanonicalMessage, part: ContentPart) -> Value {
    let Media { kind, source, name } = match part {
        ContentPart::Text(text) => return json!({"type": "text", "text": text}),
        ContentPart::Media(media) => media,
    };
    match (kind, source) {
        (MediaKind::Image, MediaSource::Data { media_type, data }) => {
            json!({"type": "image", "mimeType": media_type, "data": data})
        }
        (MediaKind::Audio, MediaSource::Data { media_type, data }) => {
            json!({"type": "audio", "mimeType": media_type, "data": data})
        }
        (MediaKind::File, MediaSource::Data { media_type, data }) => json!({
            "type": "resource",
            "resource": {
                "uri": name.map_or_else(|| "file".to_owned(), |name| format!("file:{name}")),
                "mimeType": media_type, "blob": data,
            },
        }),
        (_, MediaSource::Url(url)) => {
            json!({"type": "resource_link", "uri": url, "name": name.unwrap_or_else(|| "file".to_owned())})
        }
        (kind, source @ MediaSource::Id { .. }) => {
            message.repairs.push(Repair::PartSerialised);
            json!({"type": "text", "text": Value::from(Media { kind, source, name }).to_string()})
        }
    }
}
