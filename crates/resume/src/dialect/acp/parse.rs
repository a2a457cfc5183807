use std::collections::{HashMap, HashSet};

use records::NewMessage;
use serde_json::Value;

use super::call::Call;
use crate::DropReason;
use crate::canonical::{Media, MediaKind, MediaSource, Reasoning, taken};
use crate::dialect::parsed::{self, Said, event_id, text_part};
use crate::dialect::{Parsed, Place};

/// Reads updates; those that are part of one message come behind each other.
///
/// A call is read as it stood in the end, where it is made; its result, where it ends.
pub(super) fn parse(updates: Vec<Value>) -> Parsed {
    let calls = calls(&updates);
    let mut parsed = Parsed::default();
    let mut open = Open::default();
    let mut ended = HashSet::new();
    for (index, update) in updates.into_iter().enumerate() {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
        let role = match kind.as_str() {
            "user_message_chunk" => "user",
            "agent_message_chunk" | "agent_thought_chunk" | "tool_call" => "assistant",
            "tool_call_update" => {
                if let Some((id, call)) = ends(&update, &calls, &mut ended) {
                    open.end(&mut parsed);
                    parsed.add(Place::Message(index), result(id, call));
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
        if kind != "tool_call" {
            open.read(&kind, update);
            continue;
        }
        let id = update["toolCallId"].as_str().unwrap_or_default();
        let call = &calls[id];
        let input = call.input().unwrap_or(&Value::Null);
        open.said.calls.push(parsed::call(id, call.name().unwrap_or_default(), input));
        if let Some((id, call)) = ends(&update, &calls, &mut ended) {
            open.end(&mut parsed);
            parsed.add(Place::Message(index), result(id, call));
        }
    }
    open.end(&mut parsed);
    parsed
}

/// Returns what is told of each call, by its id.
fn calls(updates: &[Value]) -> HashMap<String, Call> {
    let mut calls: HashMap<String, Call> = HashMap::new();
    for update in updates {
        if matches!(update["sessionUpdate"].as_str(), Some("tool_call" | "tool_call_update")) {
            let id = update["toolCallId"].as_str().unwrap_or_default();
            calls.entry(id.to_owned()).or_default().tell(update);
        }
    }
    calls
}

/// Returns the call that an update ends, if it is the first to do so.
fn ends<'a>(
    update: &Value,
    calls: &'a HashMap<String, Call>,
    ended: &mut HashSet<&'a str>,
) -> Option<(&'a str, &'a Call)> {
    let is_end = matches!(update["status"].as_str(), Some("completed" | "failed"));
    let (id, call) = calls.get_key_value(update["toolCallId"].as_str().unwrap_or_default())?;
    (is_end && ended.insert(id)).then_some((id, call))
}

/// The message whose updates are being read.
#[derive(Default)]
struct Open {
    index: usize,
    role: &'static str,
    id: Option<String>,
    name: Option<String>,
    said: Said,
    /// Every id there was: where a message goes on behind a result, that is another one.
    ids: HashSet<String>,
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
        if kind == "agent_thought_chunk" {
            let text = content["text"].as_str().unwrap_or_default().to_owned();
            self.said.reasoning.push(Reasoning::Text { text, signature: None });
        } else {
            self.said.parts.push(part(content));
        }
    }

    fn end(&mut self, parsed: &mut Parsed) {
        let ids = std::mem::take(&mut self.ids);
        let Self { index, role, id, name, said, .. } =
            std::mem::replace(self, Self { ids, ..Self::default() });
        if role.is_empty() {
            return;
        }
        let id = id.filter(|id| self.ids.insert(id.clone()));
        let body = said.into_body(role, name.as_deref());
        let message = NewMessage { event_id: event_id(id), ..body.into() };
        parsed.add(Place::Message(index), message);
    }
}

fn result(id: &str, call: &Call) -> NewMessage {
    parsed::result(id, call.output(), call.has_failed() == Some(true))
}

/// Returns the stored form of a content; one that has none is kept as it is.
pub(super) fn part(content: Value) -> Value {
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
