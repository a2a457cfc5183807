use serde_json::{Map, Value, json};

use crate::Repair;
use crate::canonical::{CanonicalMessage, ContentPart, Media, MediaKind, MediaSource, are_parts};
use crate::dialect::parsed::{aligned, keep_other_fields, text_part};

const MEDIA: [&str; 4] = ["image", "audio", "video", "document"];

/// Takes the content as a text, or as a list of parts with their stored fields.
pub(super) fn take_content(message: &mut CanonicalMessage, own: Vec<Value>) -> Value {
    let list = message.content.as_array();
    if !list.is_some_and(|list| !list.is_empty() && are_parts(list)) {
        if message.content.is_null() {
            message.repairs.push(Repair::ContentSerialised);
            return "null".into();
        }
        return message.take_joined_text().into();
    }
    let parts = message.take_parts();
    let own = aligned(own, parts.len());
    parts.into_iter().zip(own).map(|(part, own)| write_part(part, &own)).collect()
}

fn write_part(part: ContentPart, own: &Value) -> Value {
    let mut written = match part {
        ContentPart::Text(text) => json!({"type": "text", "text": text}),
        ContentPart::Media(media) => write_media(&media, own),
    };
    let is_same = own["type"] == written["type"];
    for field in ["id", "metadata"] {
        if let Some(value) = own.get(field).filter(|_| is_same && written.get(field).is_none()) {
            written[field] = value.clone();
        }
    }
    written
}

fn write_media(media: &Media, own: &Value) -> Value {
    let own_type = own["type"].as_str().filter(|kind| MEDIA.contains(kind));
    let (kind, mut source) = match &media.source {
        MediaSource::Data { media_type, data } => {
            // The name of a stored sound's format may be another one than that of its media type.
            let own_media_type = own["mimeType"].as_str();
            let own_media_type =
                own_media_type.filter(|own| Media::kind_of(own) == Media::kind_of(media_type));
            let media_type = own_media_type.unwrap_or(media_type);
            (
                type_of(media.kind, media_type),
                json!({"type": "data", "value": data, "mimeType": media_type}),
            )
        }
        MediaSource::Url(url) => {
            let mut source = json!({"type": "url", "value": url});
            if let Some(said) = &media.url_type {
                source["mimeType"] = said.as_str().into();
            }
            (type_of(media.kind, media.media_type().unwrap_or_default()), source)
        }
        MediaSource::Id { id, owner } => {
            let mut source = json!({"type": "file", "value": id});
            // What came in this format says itself whether it has a provider.
            if own.is_null() {
                source["provider"] = owner.name().into();
            }
            (type_of(media.kind, ""), source)
        }
    };
    if source["type"] != "data" {
        for field in ["mimeType", "provider"] {
            if let Some(value) = own.get(field).filter(|value| value.is_string()) {
                source[field] = value.clone();
            }
        }
    }
    let mut part = json!({"type": own_type.unwrap_or(kind), "source": source});
    if let Some(name) = media.name.as_deref().filter(|_| own.get("metadata").is_none()) {
        part["metadata"] = json!({"filename": name});
    }
    part
}

fn type_of(kind: MediaKind, media_type: &str) -> &'static str {
    match kind {
        MediaKind::Image => "image",
        MediaKind::Audio => "audio",
        MediaKind::File if media_type.starts_with("video/") => "video",
        MediaKind::File => "document",
    }
}

/// Reads a content: a text, or a list of parts, whose other fields are added to `own`.
pub(super) fn read_content(content: Value, own: &mut Vec<Value>) -> Value {
    let Value::Array(parts) = content else { return content };
    let mut read = Vec::with_capacity(parts.len());
    for part in parts {
        let (part, fields) = read_part(part);
        read.push(part);
        own.push(fields);
    }
    read.into()
}

fn read_part(part: Value) -> (Value, Value) {
    let Value::Object(mut fields) = part else { return (part, Value::Null) };
    fields.retain(|_, value| !value.is_null());
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind == "text" && fields.get("text").is_some_and(Value::is_string) {
        let text = fields.remove("text").unwrap_or_default();
        let own = if fields.len() > 1 { fields.into() } else { Value::Null };
        return (text_part(text), own);
    }
    if kind == "binary" {
        // As the part as which it is shown, so that both are the same message when they come back.
        return match read_binary(&fields) {
            Some(media) => read_part(write_media(&media, &Value::Null)),
            None => (fields.into(), Value::Null),
        };
    }
    if !MEDIA.contains(&kind.as_str()) {
        return (fields.into(), Value::Null);
    }
    let Some(media) = read_media(&kind, &fields) else { return (fields.into(), Value::Null) };
    let source = fields.remove("source").unwrap_or_default();
    for field in ["mimeType", "provider"] {
        if let Some(value) = source.get(field) {
            fields.insert(field.to_owned(), value.clone());
        }
    }
    if media.name.is_some() && fields["metadata"] == json!({"filename": media.name}) {
        fields.remove("metadata");
    }
    (media.into(), fields.into())
}

fn read_media(kind: &str, fields: &Map<String, Value>) -> Option<Media> {
    let source = fields.get("source")?;
    let text = |field: &str| source[field].as_str().map(str::to_owned);
    let value = text("value")?;
    let kind = if kind == "image" { MediaKind::Image } else { MediaKind::File };
    let (kind, source) = match source["type"].as_str()? {
        "data" => {
            let media_type = text("mimeType")?;
            (Media::kind_of(&media_type), MediaSource::Data { media_type, data: value })
        }
        "url" => (kind, MediaSource::from_url(&value)),
        "file" => (kind, MediaSource::from_id(value, None)),
        _ => return None,
    };
    let name = fields.get("metadata").and_then(|metadata| metadata["filename"].as_str());
    let media = Media::new(kind, source, name.map(str::to_owned));
    Some(media.with_url_type(fields["source"]["mimeType"].as_str()))
}

/// Reads a part of versions before 1.0; it is written as a part of 1.0.
fn read_binary(fields: &Map<String, Value>) -> Option<Media> {
    let text = |field: &str| fields.get(field)?.as_str().map(str::to_owned);
    let media_type = text("mimeType")?;
    let kind = Media::kind_of(&media_type);
    let source = match (text("data"), text("url"), text("id")) {
        (Some(data), _, _) => MediaSource::Data { media_type: media_type.clone(), data },
        (_, Some(url), _) => MediaSource::from_url(&url),
        (_, _, id) => MediaSource::from_id(id?, None),
    };
    Some(Media::new(kind, source, text("filename")).with_url_type(Some(&media_type)))
}

/// Returns whether a value may be that of a stored field.
pub(super) fn fits(field: &str, value: &Value) -> bool {
    value.is_string() || !["id", "encryptedValue"].contains(&field)
}

/// Adds stored fields to a message that does not have them, but for those that every format has.
pub(super) fn add_fields(message: &mut Value, mut fields: Map<String, Value>) {
    const COMMON: [&str; 5] = ["content", "error", "name", "toolCallId", "toolCalls"];
    fields.retain(|field, value| !COMMON.contains(&field.as_str()) && fits(field, value));
    keep_other_fields(message, fields);
}
