use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::own::{add_fields, remove_empty};
use crate::canonical::{Media, MediaKind, MediaSource};
use crate::dialect::base64_text;
use crate::dialect::parsed::add_missing;

const URLS: [&str; 4] = ["image-url", "audio-url", "video-url", "document-url"];

/// Returns whether a value is an image, a sound or a file.
pub(super) fn is_media(item: &Value) -> bool {
    let has = |field: &str| item[field].is_string();
    match item["kind"].as_str() {
        Some("binary") => has("data") && has("media_type"),
        Some("uploaded-file") => has("file_id"),
        Some(kind) => URLS.contains(&kind) && has("url"),
        None => false,
    }
}

/// Writes the bytes of media in the standard alphabet of base64; the library dumps them in the one for URLs.
///
/// The arguments of a call are the model's.
pub(super) fn normalise_bytes(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("kind").is_some_and(|kind| kind == "binary") {
                base64_text::normalise(fields, "data");
            }
            let nested = fields.iter_mut().filter(|(field, _)| *field != "args");
            nested.for_each(|(_, value)| normalise_bytes(value));
        }
        Value::Array(items) => items.iter_mut().for_each(normalise_bytes),
        _ => {}
    }
}

/// Reads media, for which [`is_media`] is true; returns the content part and the other fields.
pub(super) fn read_media(item: Value) -> (Value, Value) {
    let Value::Object(fields) = item else { return (item, Value::Null) };
    let mut fields = remove_empty(fields);
    let mut take = |field: &str| match fields.remove(field) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let kind = take("kind");
    let mut media_kind = if kind == "image-url" { MediaKind::Image } else { MediaKind::File };
    let source = match kind.as_str() {
        "binary" => {
            let (media_type, data) = (take("media_type"), take("data"));
            media_kind = Media::kind_of(&media_type);
            fields.insert("media_type".to_owned(), media_type.as_str().into());
            MediaSource::Data { media_type, data }
        }
        "uploaded-file" => MediaSource::from_id(take("file_id"), None),
        _ => MediaSource::Url(take("url")),
    };
    fields.insert("kind".to_owned(), kind.into());
    let name = fields.get("identifier").and_then(Value::as_str).filter(|it| !is_digest(it));
    let media = Media::new(media_kind, source, name.map(str::to_owned));
    let said = fields.get("media_type").and_then(Value::as_str);
    let media = media.with_url_type(said);
    (media.into(), fields.into())
}

/// Returns whether an identifier is one that the library makes itself: the begin of a digest.
fn is_digest(identifier: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    identifier.len() == 6 && identifier.bytes().all(is_digit)
}

/// Writes media with its other fields, unless the format has no place for it.
pub(super) fn write_media(media: &Media, own: &Value) -> Option<Value> {
    let own_kind = own["kind"].as_str().unwrap_or_default();
    let mut item = match &media.source {
        MediaSource::Data { media_type, data } => {
            BASE64_STANDARD.decode(data).ok()?;
            // The name of a stored sound's format may be another one than that of its media type.
            let own_type = own["media_type"].as_str().filter(|_| own_kind == "binary");
            let own_type = own_type.filter(|own| Media::kind_of(own) == Media::kind_of(media_type));
            let media_type = own_type.unwrap_or_else(|| registered_type(media_type));
            json!({"kind": "binary", "data": data, "media_type": media_type})
        }
        MediaSource::Url(url) => {
            let kind = match media.media_type().and_then(|it| it.split_once('/')) {
                _ if media.kind == MediaKind::Image => "image-url",
                Some(("audio", _)) => "audio-url",
                Some(("video", _)) => "video-url",
                _ => "document-url",
            };
            let kind = if URLS.contains(&own_kind) { own_kind } else { kind };
            let mut item = json!({"kind": kind, "url": url});
            if let Some(said) = &media.url_type {
                item["media_type"] = registered_type(said).into();
            }
            item
        }
        MediaSource::Id { id, .. }
            if own_kind == "uploaded-file" && own["provider_name"].is_string() =>
        {
            json!({"kind": "uploaded-file", "file_id": id})
        }
        MediaSource::Id { .. } => return None,
    };
    if let Some(name) = &media.name {
        item["identifier"] = name.as_str().into();
    }
    if item["kind"] == own_kind {
        add_fields(&mut item, own);
    }
    Some(item)
}

/// Returns the registered type of sounds whose stored type comes from the name of their format; the library knows no other.
fn registered_type(media_type: &str) -> &str {
    match media_type {
        "audio/mp3" => "audio/mpeg",
        other => other,
    }
}

/// Returns the content part to store for an item that no other format has; its type is its kind.
pub(super) fn kept_part(kind: &str, fields: Map<String, Value>) -> Value {
    let mut part = json!({"type": kind});
    add_missing(&mut part, remove_empty(fields));
    part
}
