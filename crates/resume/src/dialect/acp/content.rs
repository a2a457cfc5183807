use serde_json::Value;

use crate::canonical::{Media, MediaKind, MediaSource};
use crate::dialect::parsed::text_part;

/// Returns the content part to store for a content block; an unknown block stays unchanged.
pub(super) fn read_part(content: Value) -> Value {
    match content["type"].as_str() {
        Some("text") => text_part(content["text"].clone()),
        Some("resource") if content["resource"]["text"].is_string() => {
            text_part(content["resource"]["text"].clone())
        }
        _ => read_media(&content).map_or(content, Value::from),
    }
}

/// The type of a file that states none.
const BINARY: &str = "application/octet-stream";

/// Reads an image, a sound or a file.
pub(crate) fn read_media(content: &Value) -> Option<Media> {
    let text = |pointer: &str| content.pointer(pointer)?.as_str().map(str::to_owned);
    // Renderings name a file without a name `file`, because the protocol requires one.
    let given = |name: String| Some(name).filter(|name| name != "file");
    let (kind, source, name) = match content["type"].as_str()? {
        "resource_link" => {
            let name = text("/name").and_then(given);
            (MediaKind::File, MediaSource::Url(text("/uri")?), name)
        }
        "resource" => {
            let name = text("/resource/uri").and_then(given);
            let name = name.map(|uri| uri.strip_prefix("file:").unwrap_or(&uri).to_owned());
            let data = text("/resource/blob")?;
            let media_type = text("/resource/mimeType").unwrap_or_else(|| BINARY.to_owned());
            (MediaKind::File, MediaSource::Data { media_type, data }, name)
        }
        kind => {
            let (media_type, data) = (text("/mimeType")?, text("/data")?);
            let kind = if kind == "image" { MediaKind::Image } else { MediaKind::Audio };
            (kind, MediaSource::Data { media_type, data }, None)
        }
    };
    let mut media = Media::new(kind, source, name).with_url_type(text("/mimeType").as_deref());
    media.kind = media.media_type().map_or(kind, Media::kind_of);
    Some(media)
}
