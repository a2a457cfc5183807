use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::formats;
use crate::canonical::{Media, MediaKind, MediaSource};
use crate::dialect::shapes::{Shape, Table, retain};

/// What blocks of media may have besides their format, name and source.
const FIELDS: Table = &[
    ("citations", Shape::Fields(&[("enabled", Shape::Flag)])),
    ("context", Shape::Text),
    ("error", Shape::Fields(&[("message", Shape::Text)])),
];

/// The kinds that have each of these fields.
const KINDS: [(&str, &[&str]); 3] =
    [("citations", &["document"]), ("context", &["document"]), ("error", &["image", "audio"])];

/// The longest URI.
const MAX_URI_CHARS: usize = 1024;

/// Takes the media out of a block; returns the content part, and what it does not hold.
///
/// Returns `None` if the block has a source or a format that no other format has.
pub(super) fn take(kind: &str, payload: &Value) -> Option<(Value, Map<String, Value>)> {
    let mut left = payload.as_object()?.clone();
    let source = left.shift_remove("source")?;
    let source = source.as_object()?;
    let format = left.shift_remove("format");
    let name = match kind {
        "document" => Some(left.shift_remove("name")?.as_str()?.to_owned()),
        _ => None,
    };
    let text = |field: &str| source.get(field).and_then(Value::as_str);
    let known_type = format.as_ref().and_then(Value::as_str);
    let known_type = known_type.and_then(|format| formats::media_type(kind, format));
    let media_source = if let (Some(data), 1) = (text("bytes"), source.len()) {
        MediaSource::Data { media_type: known_type?.to_owned(), data: data.to_owned() }
    } else if let (Some(said), 1, "document") = (text("text"), source.len(), kind) {
        left.insert("source".to_owned(), "text".into());
        MediaSource::Data {
            media_type: "text/plain".to_owned(),
            data: BASE64_STANDARD.encode(said),
        }
    } else {
        let location = source.get("s3Location")?;
        left.extend(location.get("bucketOwner").map(|it| ("bucketOwner".to_owned(), it.clone())));
        MediaSource::Url(location["uri"].as_str()?.to_owned())
    };
    let media_kind = if kind == "image" { MediaKind::Image } else { MediaKind::File };
    let media = Media::new(media_kind, media_source, name);
    if kind_and_format(&media) != format.as_ref().and_then(Value::as_str).map(|it| (kind, it)) {
        left.insert("kind".to_owned(), kind.into());
        left.insert("format".to_owned(), format.unwrap_or_default());
    }
    Some((media.into(), left))
}

/// Returns the kind of block and the format that media have if nothing else is known of them.
fn kind_and_format(media: &Media) -> Option<(&'static str, &'static str)> {
    match &media.source {
        MediaSource::Data { media_type, .. } => formats::of_type(media_type),
        MediaSource::Url(url) => formats::of_url(url),
        MediaSource::Id { .. } => None,
    }
}

/// A block of media, and whether fields that were stored with it were left out.
pub(super) struct WrittenMedia {
    pub(super) kind: &'static str,
    pub(super) payload: Value,
    pub(super) removes_any: bool,
}

/// Writes media with what is stored besides, unless the format has no place for them.
pub(super) fn write(media: &Media, mut left: Map<String, Value>) -> Option<WrittenMedia> {
    let (kind, format) = stored_format(media, &mut left)?;
    let owner = left.shift_remove("bucketOwner");
    let as_text = left.shift_remove("source") == Some("text".into());
    let source = match &media.source {
        MediaSource::Data { data, .. } => {
            let bytes = BASE64_STANDARD.decode(data).ok().filter(|bytes| !bytes.is_empty())?;
            let text = String::from_utf8(bytes).ok().filter(|_| as_text && kind == "document");
            match text.filter(|text| !text.trim().is_empty()) {
                Some(text) => json!({"text": text}),
                None => json!({"bytes": data}),
            }
        }
        MediaSource::Url(uri) if is_s3(uri) => {
            let mut location = json!({"uri": uri});
            if let Some(owner) = owner.filter(is_account) {
                location["bucketOwner"] = owner;
            }
            json!({"s3Location": location})
        }
        _ => return None,
    };
    let count = left.len();
    left.retain(|field, _| {
        KINDS.iter().any(|(known, kinds)| known == field && kinds.contains(&kind))
    });
    let removes_any = left.len() < count;
    let removes_any = retain(&mut left, FIELDS) | removes_any;
    if left.get("citations").is_some_and(|it| it.get("enabled").is_none()) {
        left.shift_remove("citations");
    }
    let mut payload = Map::new();
    payload.extend(format.map(|format| ("format".to_owned(), format.into())));
    payload.insert("source".to_owned(), source);
    payload.extend(left);
    Some(WrittenMedia { kind, payload: payload.into(), removes_any })
}

/// Returns the kind of block and the format: those with which the media came, if they are still possible.
fn stored_format(
    media: &Media,
    left: &mut Map<String, Value>,
) -> Option<(&'static str, Option<&'static str>)> {
    let (kind, format) = (left.shift_remove("kind"), left.shift_remove("format"));
    let is_text = left.get("source") == Some(&"text".into());
    if let (Some(Value::String(kind)), Some(format)) = (kind, format) {
        let found = match &format {
            Value::String(format) => {
                formats::known(&kind, format).map(|(kind, format)| (kind, Some(format)))
            }
            Value::Null if is_text && kind == "document" => Some(("document", None)),
            _ => None,
        };
        // The type of inline media may not be that of the stored format any more.
        let fits = |found: &(&'static str, Option<&'static str>)| match &media.source {
            MediaSource::Data { media_type, .. } => {
                formats::of_type(media_type).is_some_and(|(kind, _)| kind == found.0)
            }
            _ => true,
        };
        if let Some(found) = found.filter(fits) {
            return Some(found);
        }
    }
    kind_and_format(media).map(|(kind, format)| (kind, Some(format)))
}

/// Returns whether a text is the URI of an object in S3: service model, `S3Uri`.
fn is_s3(uri: &str) -> bool {
    let Some(rest) = uri.strip_prefix("s3://") else { return false };
    let bucket = rest.split('/').next().unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let inner = bucket.bytes().all(|byte| is_plain(byte) || byte == b'.' || byte == b'-');
    let ends =
        bucket.bytes().next().is_some_and(is_plain) && bucket.bytes().last().is_some_and(is_plain);
    (3..=63).contains(&bucket.len()) && inner && ends && uri.chars().count() <= MAX_URI_CHARS
}

/// Returns whether a value is the id of an account: service model, `AccountId`.
fn is_account(owner: &Value) -> bool {
    owner
        .as_str()
        .is_some_and(|it| it.len() == 12 && it.bytes().all(|digit| digit.is_ascii_digit()))
}
