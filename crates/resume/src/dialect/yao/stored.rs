//! How a typed message is stored, and written again.
//!
//! `props` keeps the properties and their order. The value of a property that all formats have is stored where they have it; in
//! `props` there is null in its place. Properties that no other format has are the content itself, so that other formats show
//! them as JSON text.

use std::mem;

use records::{JsonObject, Message, MessageBody};
use serde_json::{Value, json};

use super::NAME;
use crate::Repair;
use crate::canonical::are_parts;
use crate::dialect::parsed::stored_call;
use crate::rendered::{Origin, Rendered};

/// Fields of a message that are stored as they are, if they hold a text.
pub(super) const TEXT_FIELDS: [&str; 6] =
    ["request_id", "block_id", "thread_id", "assistant_id", "connector", "mode"];

/// The types with properties that are stored as fields of the message, where all formats have them.
const TYPES_WITH_FIELDS: [&str; 7] =
    ["text", "user_input", "thinking", "tool_call", "image", "audio", "video"];

/// Returns whether a message is a signal of a running stream.
pub(super) fn is_event(body: &MessageBody) -> bool {
    body.extra_text(MessageBody::TYPE) == Some("event")
}

/// Stores the properties of a message of a type.
pub(super) fn keep_props(body: &mut MessageBody, kind: &str, mut props: JsonObject) {
    match kind {
        "text" | "user_input" if is_said(kind, props.get("content")) => {
            body.content = take(&mut props, "content");
        }
        "thinking" if props.get("content").is_some_and(Value::is_string) => {
            body.extra.insert("reasoning_content".to_owned(), take(&mut props, "content"));
        }
        "tool_call" if is_call(&props) => {
            let [id, name, arguments] =
                ["id", "name", "arguments"].map(|field| take(&mut props, field));
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let call = stored_call(&text(&id), &text(&name), &arguments);
            body.extra.insert("tool_calls".to_owned(), json!([call]));
        }
        "image" | "audio" | "video" if props.get("url").is_some_and(Value::is_string) => {
            body.content = json!([media_part(kind, &take(&mut props, "url"))]);
        }
        // Nothing is said yet.
        "text" | "user_input" | "thinking" if has_no_content(&props) => {}
        // Only the user interface shows it, while something is awaited.
        "loading" => {}
        _ => {
            if TYPES_WITH_FIELDS.contains(&kind) {
                // Tells the properties from a content that another system wrote.
                body.extra.insert(MessageBody::PROPS.to_owned(), Value::Null);
            }
            body.content = props.into();
            return;
        }
    }
    body.extra.insert(MessageBody::PROPS.to_owned(), props.into());
}

/// Writes a message that has a type; `None` if it has none, or if what it says is not of that type any more.
pub(super) fn write(message: &Message) -> Option<Value> {
    let body = &message.body;
    let kind = body.extra_text(MessageBody::TYPE).filter(|kind| !kind.is_empty())?;
    let role = match body.role.as_str() {
        "user" => "user",
        "assistant" | "tool" => "assistant",
        _ => return None,
    };
    let props = write_props(body, kind)?;
    let id = body.extra_text("message_id").unwrap_or(message.event_id.as_str());
    let mut written = json!({"message_id": id, "role": role, "type": kind, "props": props});
    for field in TEXT_FIELDS {
        if let Some(text) = body.extra_text(field) {
            written[field] = text.into();
        }
    }
    if let Some(metadata) = &body.metadata {
        written["metadata"] = metadata.clone().into();
    }
    if let Some(time) = &body.timestamp {
        written["created_at"] = time.as_str().into();
    }
    let own = body.extra.get(MessageBody::PROVIDER).and_then(|provider| provider.get(NAME));
    for (field, value) in own.and_then(Value::as_object).into_iter().flatten() {
        if written.get(field).is_none() {
            written[field] = value.clone();
        }
    }
    Some(written)
}

fn write_props(body: &MessageBody, kind: &str) -> Option<JsonObject> {
    let kept = body.extra.get(MessageBody::PROPS);
    if let (Some(Value::Null), Value::Object(props)) = (kept, &body.content) {
        return Some(props.clone());
    }
    let says_nothing = body.content.is_null() && !body.extra.contains_key("reasoning_content");
    if let Some(Value::Object(props)) = kept
        && matches!(kind, "text" | "user_input" | "thinking")
        && says_nothing
        && has_no_content(props)
    {
        return Some(props.clone());
    }
    let mut props = match kept.unwrap_or(&Value::Null) {
        Value::Object(props) => props.clone(),
        Value::Null => JsonObject::new(),
        _ => return None,
    };
    match kind {
        "text" | "user_input" => {
            fill(&mut props, "content", body.content.clone());
            if body.role == "user"
                && let (Some(name), Some(kept)) = (&body.name, props.get_mut("name"))
                && kept.as_str().is_some_and(|kept| !kept.is_empty())
            {
                *kept = name.as_str().into();
            }
            is_said(kind, props.get("content")).then_some(props)
        }
        "thinking" => {
            let reasoning = body.extra.get("reasoning_content").cloned().unwrap_or_default();
            fill(&mut props, "content", reasoning);
            let is_whole = props["content"].is_string() && body.content.is_null();
            is_whole.then_some(props)
        }
        "tool_call" => {
            if let Some([call]) =
                body.extra.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice)
            {
                fill(&mut props, "id", call["id"].clone());
                fill(&mut props, "name", call["function"]["name"].clone());
                fill(&mut props, "arguments", call["function"]["arguments"].clone());
            }
            (is_call(&props) && body.content.is_null()).then_some(props)
        }
        "image" | "audio" | "video" => {
            if !body.content.is_null() {
                fill(&mut props, "url", media_url(&body.content)?.into());
            }
            props.get("url").is_some_and(Value::is_string).then_some(props)
        }
        _ if kept.is_some() => Some(props),
        _ => body.content.as_object().cloned(),
    }
}

/// Reports what is not written of a message.
pub(super) fn report(index: usize, message: &Message, rendered: &mut Rendered) {
    let provider = message.body.extra.get(MessageBody::PROVIDER).and_then(Value::as_object);
    if provider.is_some_and(removes_fields) {
        let origin = Origin { index, sequence: message.sequence };
        rendered.repair(origin, Repair::ProviderFieldsRemoved);
    }
}

/// Returns whether a message came with fields that this format cannot show.
pub(super) fn removes_fields(provider: &JsonObject) -> bool {
    provider.iter().any(|(dialect, fields)| match fields {
        Value::Object(fields) => dialect != NAME && !fields.is_empty(),
        // An edit removed them.
        _ => dialect == NAME,
    })
}

fn take(props: &mut JsonObject, field: &str) -> Value {
    props.get_mut(field).map(mem::take).unwrap_or_default()
}

/// Puts a value in its place, unless there is none.
fn fill(props: &mut JsonObject, field: &str, value: Value) {
    if !value.is_null() || !props.contains_key(field) {
        props.insert(field.to_owned(), value);
    }
}

/// Returns whether a content is one that a text, or what a user says, may have.
fn is_said(kind: &str, content: Option<&Value>) -> bool {
    match content {
        Some(Value::String(_)) => true,
        Some(Value::Array(parts)) => kind == "user_input" && !parts.is_empty() && are_parts(parts),
        _ => false,
    }
}

fn has_no_content(props: &JsonObject) -> bool {
    props.get("content").is_none_or(Value::is_null)
}

fn is_call(props: &JsonObject) -> bool {
    let text = |field: &str| props.get(field).and_then(Value::as_str);
    let is_named = |field: &str| text(field).is_some_and(|text| !text.is_empty());
    is_named("id") && is_named("name") && text("arguments").is_some()
}

fn media_part(kind: &str, url: &Value) -> Value {
    let is_inline = url.as_str().is_some_and(|url| url.starts_with("data:"));
    match kind {
        "image" => json!({"type": "image_url", "image_url": {"url": url}}),
        _ if is_inline => json!({"type": "file", "file": {"file_data": url}}),
        _ => json!({"type": "file", "file": {"file_url": url}}),
    }
}

fn media_url(content: &Value) -> Option<&str> {
    let [part] = content.as_array()?.as_slice() else { return None };
    let places = ["/image_url/url", "/file/file_data", "/file/file_url"];
    places.into_iter().find_map(|place| part.pointer(place)?.as_str())
}
