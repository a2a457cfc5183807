use std::mem;

use serde_json::{Map, Value, json};

use super::own::{OwnFields, add_to_call, add_to_chunk, is_plan, is_without_id};
use crate::canonical::{
    CanonicalMessage, ContentPart, Media, MediaKind, MediaSource, Reasoning, Role,
};
use crate::dialect::parsed::aligned;
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;
use crate::{DropReason, Repair};

/// Writes the updates of each message separately.
#[derive(Debug, Default)]
pub(super) struct UpdatesWriter {
    /// The id of the message that the last chunk belongs to.
    last_id: String,
    /// The speaker of the last message.
    last_role: Option<Role>,
    /// The role of the message to which a chunk without an id would belong.
    open_role: Option<Role>,
}

impl MessageWriter for UpdatesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        let mut own = OwnFields::take(&mut message);
        if message.says_nothing() {
            let plan = Value::Object(mem::take(&mut own.plan));
            if is_plan(&plan) {
                rendered.messages.push(plan);
                self.open_role = None;
                return;
            }
            if !message.thinks() {
                rendered.drop(message.origin, DropReason::NullContent);
                return;
            }
        }
        let updates = match message.role {
            Role::System | Role::Developer => {
                let reason = DropReason::unsupported_role(message.role.as_str());
                rendered.drop(message.origin, reason);
                return;
            }
            Role::Tool => vec![write_result(&mut message, &own)],
            _ => {
                // The chunks of one message are neighbours: only the last one can continue.
                let last_role = self.last_role.map_or("", Role::as_str);
                let continued = own.continued.take();
                let is_rest =
                    continued.is_some_and(|it| it.continues(last_role, &self.last_id, None));
                let id = if is_rest { &self.last_id } else { &message.event_id }.clone();
                let is_open = self.open_role == Some(message.role);
                // Without an id, the message would be a part of the one before it.
                own.is_without_id &= is_rest || !is_open;
                let updates = write_speech(&mut message, &id, own);
                if updates.iter().any(|update| update.get("messageId").is_some()) {
                    self.last_id = id;
                }
                updates
            }
        };
        self.last_role = Some(message.role);
        self.open_role = self.last_role.filter(|role| *role != Role::Tool);
        message.report_repairs(rendered);
        rendered.messages.extend(updates);
    }
}

fn write_speech(message: &mut CanonicalMessage, id: &str, own: OwnFields) -> Vec<Value> {
    let name = message.name.take();
    let kind =
        if message.role == Role::Assistant { "agent_message_chunk" } else { "user_message_chunk" };
    let id = (!own.is_without_id).then_some(id);
    let mut updates = Vec::new();
    let thoughts = write_reasoning(message);
    let of_thoughts = aligned(own.thoughts, thoughts.len());
    for (content, own) in thoughts.into_iter().zip(of_thoughts) {
        let mut update = chunk("agent_thought_chunk", &content, id, name.as_deref());
        add_to_chunk(&mut update, &own);
        updates.push(update);
    }
    let parts = message.take_parts();
    let of_chunks = aligned(own.chunks, parts.len());
    for (part, own) in parts.into_iter().zip(of_chunks) {
        let content = write_content(message, part);
        let mut update = chunk(kind, &content, id, name.as_deref());
        add_to_chunk(&mut update, &own);
        updates.push(update);
    }
    let of_calls = aligned(own.calls, message.calls.len());
    for (call, own) in message.calls.iter_mut().zip(of_calls) {
        let input = call.take_input();
        let mut update = write_call(&call.id, &call.target.name, &input);
        let mut meta = meta(name.as_deref());
        // Without its id, a call belongs to the chunks before it.
        let id = id.filter(|_| updates.is_empty() || !is_without_id(&own));
        meta.extend(id.map(|id| ("messageId".to_owned(), id.into())));
        if !meta.is_empty() {
            update["_meta"] = meta.into();
        }
        add_to_call(&mut update, &own);
        updates.push(update);
    }
    updates
}

/// Writes the beginning of a call.
pub(super) fn write_call(id: &str, name: &str, input: &Value) -> Value {
    json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": name, "kind": "other",
        "status": "pending", "rawInput": input,
    })
}

fn chunk(kind: &str, content: &Value, id: Option<&str>, name: Option<&str>) -> Value {
    let mut update = json!({"sessionUpdate": kind});
    if let Some(id) = id {
        update["messageId"] = id.into();
    }
    update["content"] = content.clone();
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

fn write_result(message: &mut CanonicalMessage, own: &OwnFields) -> Value {
    let mut update = write_end(message);
    add_to_call(&mut update, own.calls.first().unwrap_or(&Value::Null));
    update
}

/// Writes the end of a call.
pub(super) fn write_end(message: &mut CanonicalMessage) -> Value {
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
                | Repair::InlineDataLeftOut { .. }
                | Repair::PartFieldsRemoved
                | Repair::RefusalGivenAsText
        )
    });
    let mut update = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": message.call_id, "status": status,
        "content": shown,
    });
    // In an update, null is a field that does not change.
    if !output.is_null() {
        update["rawOutput"] = output;
    }
    update
}

/// Writes a part of a content.
pub(super) fn write_content(message: &mut CanonicalMessage, part: ContentPart) -> Value {
    let Media { kind, source, name, url_type } = match part {
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
            let name = name.unwrap_or_else(|| "file".to_owned());
            let mut link = json!({"type": "resource_link", "uri": url, "name": name});
            if let Some(said) = url_type {
                link["mimeType"] = said.into();
            }
            link
        }
        (kind, source @ MediaSource::Id { .. }) => {
            let media = Media::new(kind, source, name);
            json!({"type": "text", "text": message.part_text(ContentPart::Media(media))})
        }
    }
}
