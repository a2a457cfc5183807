//! Media as libraries and other providers write them in a content.

use serde_json::Value;

use super::media::{Media, MediaKind, MediaSource};

/// The fields that such a part may have and that mean nothing for another reader.
const MEANINGLESS: [&str; 3] = ["id", "index", "detail"];

/// The fields with the name of a file.
const NAMES: [&str; 3] = ["filename", "name", "document_name"];

impl Media {
    /// Reads a content part that has not the stored form, and whether all its fields were read; `None` if it is no such part.
    ///
    /// `LangChain` has `base64`, `url` or `file_id` beside `mime_type`, or `source_type` and `data` in its first version; Anthropic
    /// has a `source`; Google has the type `media` with `data` or `file_uri`; the Responses API has `input_image`; servers with the
    /// API of `OpenAI` have `video_url` and `audio_url`, and some take the address of an image alone; Mistral has `document_url`;
    /// the Model Context Protocol has `data` beside `mimeType`.
    pub(crate) fn read_of_library(part: &Value) -> Option<(Self, bool)> {
        let kind = match part["type"].as_str()? {
            "image" | "image_url" | "input_image" => MediaKind::Image,
            "audio" | "audio_url" => MediaKind::Audio,
            "video" | "file" | "media" | "video_url" | "document_url" => MediaKind::File,
            _ => return None,
        };
        // A part of `OpenAI` has its payload in an object.
        if ["image_url", "file"].iter().any(|payload| part[*payload].is_object()) {
            return None;
        }
        let mut payloads = ["source", "video_url", "audio_url"].into_iter();
        let inner = payloads.find_map(|payload| part.get(payload)?.as_object());
        let from = |name: &str| inner.map_or_else(|| part.get(name), |inner| inner.get(name));
        let text = |names: &[&'static str]| {
            let mut found = names.iter().filter_map(|name| Some((*name, from(name)?.as_str()?)));
            found.next()
        };
        let media_type = text(&["mime_type", "media_type", "mimeType", "mediaType"]);
        let data = text(&["base64", "data"]);
        let url = text(&["url", "file_uri", "image_url", "video_url", "audio_url", "document_url"]);
        let id = text(&["file_id"]);
        let source = match (data, url, id) {
            (Some((_, data)), None, None) => {
                MediaSource::Data { media_type: media_type?.1.to_owned(), data: data.to_owned() }
            }
            (None, Some((_, url)), None) => MediaSource::from_url(url),
            (None, None, Some((_, id))) => {
                MediaSource::from_id(id.to_owned(), part.get("provider"))
            }
            _ => return None,
        };
        let name = NAMES.into_iter().find_map(|field| part[field].as_str());
        let name = name.or_else(|| part["extras"]["filename"].as_str());
        let read = [media_type, data, url, id].map(|it| it.map(|(field, _)| field));
        let is_read = |field: &str| {
            read.contains(&Some(field))
                || ["type", "source", "source_type", "video_url", "audio_url"].contains(&field)
                || NAMES.contains(&field)
                || MEANINGLESS.contains(&field)
        };
        let fields = part.as_object()?.iter();
        let mut fields = fields.chain(inner.into_iter().flatten());
        let is_whole = fields.all(|(field, value)| value.is_null() || is_read(field));
        let media = Self::new(kind, source, name.map(str::to_owned));
        Some((media.with_url_type(media_type.map(|(_, said)| said)), is_whole))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(part: &Value) -> Option<(Value, bool)> {
        Media::read_of_library(part).map(|(media, is_whole)| (media.into(), is_whole))
    }

    #[test]
    fn the_parts_of_libraries_are_media() {
        let png = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}});
        for part in [
            json!({"type": "image", "id": "lc_1", "base64": "iVBO", "mime_type": "image/png"}),
            json!({"type": "image", "source_type": "base64", "data": "iVBO", "mime_type": "image/png"}),
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}),
            json!({"type": "media", "mime_type": "image/png", "data": "iVBO"}),
            json!({"type": "image", "mimeType": "image/png", "data": "iVBO", "annotations": null}),
            json!({"type": "input_image", "image_url": "data:image/png;base64,iVBO", "detail": "low"}),
            json!({"type": "image_url", "image_url": "data:image/png;base64,iVBO"}),
        ] {
            assert_eq!(read(&part), Some((png.clone(), true)), "{part}");
        }
        let pdf = json!({"type": "file", "base64": "JVBE", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}});
        let file = json!({"file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"});
        assert_eq!(read(&pdf), Some((json!({"type": "file", "file": file}), false)));
        let sound = json!({"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"});
        let input =
            json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}});
        assert_eq!(read(&sound), Some((input, true)));
        let url = "https://example.org/a.mp4";
        let file = json!({"type": "file", "file": {"file_url": url}});
        for at in [
            json!({"type": "video", "url": url}),
            json!({"type": "video_url", "video_url": {"url": url}}),
            json!({"type": "document_url", "document_url": url}),
        ] {
            assert_eq!(read(&at), Some((file.clone(), true)), "{at}");
        }
    }

    #[test]
    fn other_parts_are_not() {
        for part in [
            json!({"type": "text", "text": "x"}),
            json!({"type": "image"}),
            json!({"type": "image", "base64": "iVBO"}),
            json!({"type": "image", "url": "https://example.org/a.png", "file_id": "f"}),
            json!({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}),
            json!({"type": "file", "file": {"file_id": "f"}}),
            json!({"type": "image_file", "file_id": "f"}),
        ] {
            assert_eq!(read(&part), None, "{part}");
        }
    }
}
