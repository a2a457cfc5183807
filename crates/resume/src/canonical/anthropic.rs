//! Images and files as Anthropic has them in its content blocks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::media::{Media, MediaKind, MediaSource, is_text_type};
use super::provider::Provider;

/// Creates the block of an image or a file; `None` if there is no such block.
pub(crate) fn write_block(media: &Media) -> Option<Value> {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::File => "document",
        MediaKind::Audio => return None,
    };
    let source = match &media.source {
        MediaSource::Url(url) => json!({"type": "url", "url": url}),
        MediaSource::Id { id, .. } => json!({"type": "file", "file_id": id}),
        MediaSource::Data { media_type, data } => inline_source(&media.source, media_type, data)?,
    };
    let mut block = json!({"type": kind, "source": source});
    if let Some(name) = media.name.as_deref().filter(|_| kind == "document") {
        block["title"] = name.into();
    }
    Some(block)
}

fn inline_source(source: &MediaSource, media_type: &str, data: &str) -> Option<Value> {
    if is_text_type(media_type) {
        return Some(json!({"type": "text", "media_type": "text/plain", "data": source.text()?}));
    }
    Some(json!({"type": "base64", "media_type": media_type, "data": data}))
}

/// Reads the block of an image or a file; `None` if it is none, or has a source that only Anthropic reads.
pub(crate) fn read_media(block: &Map<String, Value>) -> Option<Media> {
    let kind = match block.get("type")?.as_str()? {
        "image" => MediaKind::Image,
        "document" => MediaKind::File,
        _ => return None,
    };
    let source = read(block.get("source")?)?;
    let name = block.get("title").and_then(Value::as_str).map(str::to_owned);
    Some(Media::new(kind, source, name))
}

/// Reads the source of a block.
fn read(source: &Value) -> Option<MediaSource> {
    let text = |field: &str| source.get(field)?.as_str().map(str::to_owned);
    match source.get("type")?.as_str()? {
        "base64" => {
            Some(MediaSource::Data { media_type: text("media_type")?, data: text("data")? })
        }
        "text" => {
            let data = STANDARD.encode(text("data")?);
            Some(MediaSource::Data { media_type: text("media_type")?, data })
        }
        "url" => Some(MediaSource::Url(text("url")?)),
        "file" => Some(MediaSource::Id { id: text("file_id")?, owner: Provider::Anthropic }),
        _ => None,
    }
}
