use records::NewMessage;
use serde_json::Value;

use crate::DropReason;
use crate::canonical::{Media, MediaKind, MediaSource, Reasoning, taken};
use crate::dialect::parsed::{self, Said, content, event_id, text_part};
use crate::dialect::{Parsed, Place};

/// Reads updates; those that are part of one message come behind each other.
pub(super) fn parse(updates: Vec<Value>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut open = Open::default();
    for (index, update) in updates.into_iter().enumerate() {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
        let role = match kind.as_str() {
            "user_message_chunk" => "user",
            "agent_message_chunk" | "agent_thought_chunk" | "tool_call" => "assistant",
            "tool_call_update" => {
                if let Some(result) = result(update) {
                    open.end(&mut parsed);
                    parsed.add(Place::Message(index), result);
                }
                continue;
            }
            _ if update.is_object() => {
                parsed.drop(index, DropReason::unsupported_role(&kind));
                continue;
            }
            _ => {
                parsed.drop(index, DropReason::NotAnObject);
                continue;
            }
        };
        open.join(index, role, &update, &mut parsed);
        open.read(&kind, update);
    }
    open.end(&mut parsed);
    parsed
}

/// The message whose updates are being read.
#[derive(Default)]
struct Open {
    index: usize,
    role: &'static str,
    id: Option<String>,
    name: Option<String>,
    said: Said,
}

impl Open {
    /// Begins another message, unless the update is of this one.
    fn join(&mut self, index: usize, role: &'static str, update: &Value, parsed: &mut Parsed) {
        let id = update["messageId"].as_str().or_else(|| update["_meta"]["messageId"].as_str());
        let is_known = id.is_none() || id == self.id.as_deref();
        if self.role == role && is_known {
            return;
        }
        self.end(parsed);
        self.index = index;
        self.role = role;
        self.id = id.map(str::to_owned);
        self.name = update["_meta"]["name"].as_str().map(str::to_owned);
    }

    fn read(&mut self, kind: &str, mut update: Value) {
        let content = taken(&mut update, "content");
        match kind {
            "tool_call" => {
                let text = |field: &str| update[field].as_str().unwrap_or_default();
                let (id, name) = (text("toolCallId"), text("title"));
                self.said.calls.push(parsed::call(id, name, &update["rawInput"]));
            }
            "agent_thought_chunk" => {
                let text = content["text"].as_str().unwrap_or_default().to_owned();
                self.said.reasoning.push(Reasoning::Text { text, signature: None });
            }
            _ => self.said.parts.push(part(content)),
        }
    }

    fn end(&mut self, parsed: &mut Parsed) {
        let Self { index, role, id, name, said } = std::mem::take(self);
        if role.is_empty() {
            return;
        }
        let body = said.into_body(role, name.as_deref());
        let message = NewMessage { event_id: event_id(id), ..body.into() };
        parsed.add(Place::Message(index), message);
    }
}

/// Reads the result of a call, once there is one.
fn result(mut update: Value) -> Option<NewMessage> {
    let failed = match update["status"].as_str() {
        Some("completed") => false,
        Some("failed") => true,
        _ => return None,
    };
    let output = output(&mut update);
    let id = update["toolCallId"].as_str().unwrap_or_default();
    Some(parsed::result(id, output, failed))
}

/// Takes what came of a call, or else what was shown of it.
pub(crate) fn output(update: &mut Value) -> Value {
    update.get_mut("rawOutput").map(Value::take).unwrap_or_else(|| {
        let shown = update["content"].as_array_mut().into_iter().flatten();
        content(shown.map(|item| part(taken(item, "content"))).collect())
    })
}

/// Returns the stored form of a content; one that has none is kept as it is.
fn part(content: Value) -> Value {
    match content["type"].as_str() {
        Some("text") => text_part(content["text"].clone()),
        _ => media(&content).map_or(content, Value::from),
    }
}

/// Reads a picture, a sound or a file.
pub(crate) fn media(content: &Value) -> Option<Media> {
    let text = |pointer: &str| content.pointer(pointer)?.as_str().map(str::to_owned);
    let named = |name: String| Some(name).filter(|name| name != "file");
    let (kind, source, name) = match content["type"].as_str()? {
        "resource_link" => {
            let name = text("/name").and_then(named);
            (MediaKind::File, MediaSource::Url(text("/uri")?), name)
        }
        "resource" => {
            let name = text("/resource/uri").and_then(named);
            let name = name.map(|uri| uri.strip_prefix("file:").unwrap_or(&uri).to_owned());
            let (media_type, data) = (text("/resource/mimeType")?, text("/resource/blob")?);
            (MediaKind::File, MediaSource::Data { media_type, data }, name)
        }
        kind => {
            let (media_type, data) = (text("/mimeType")?, text("/data")?);
            let kind = if kind == "image" { MediaKind::Image } else { MediaKind::Audio };
            (kind, MediaSource::Data { media_type, data }, None)
        }
    };
    Some(Media { kind, source, name })
}
