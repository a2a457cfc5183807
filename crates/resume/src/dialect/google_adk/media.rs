use serde_json::{Map, Value, json};

use crate::canonical::{Media, MediaSource};
use crate::dialect::base64_text::is_base64;

/// Takes the media out of a part; returns the content part, and what it does not hold.
pub(super) fn take(part: &mut Map<String, Value>) -> Option<(Value, Map<String, Value>)> {
    let (field, source) = [("inlineData", "data"), ("fileData", "fileUri")]
        .into_iter()
        .find(|(field, source)| part.get(*field).is_some_and(|it| it[source].is_string()))?;
    let payload = &part[field];
    let text = |field: &str| payload[field].as_str().map(str::to_owned);
    let media_type = text("mimeType").filter(|it| !it.is_empty());
    let bytes = text(source).unwrap_or_default();
    let (source, is_url_safe) = match (&media_type, field) {
        (Some(media_type), "inlineData") => {
            let data = bytes.replace('-', "+").replace('_', "/");
            let is_url_safe = data != bytes;
            (MediaSource::Data { media_type: media_type.clone(), data }, is_url_safe)
        }
        (None, "inlineData") => return None,
        _ => (MediaSource::Url(bytes), false),
    };
    let kind = Media::kind_of(media_type.as_deref().unwrap_or_default());
    let media = Media::new(kind, source, text("displayName"));
    let stored = Value::from(media.with_url_type(media_type.as_deref()));
    let mut left = Map::new();
    if let Some(media_type) = media_type.filter(|it| type_of(&stored).as_ref() != Some(it)) {
        left.insert("mimeType".to_owned(), media_type.into());
    }
    if is_url_safe {
        left.insert("urlSafe".to_owned(), true.into());
    }
    part.remove(field);
    Some((stored, left))
}

/// Returns the media type that a content part says.
fn type_of(part: &Value) -> Option<String> {
    match Media::read(part)?.source {
        MediaSource::Data { media_type, .. } => Some(media_type),
        _ => None,
    }
}

/// Writes the part of media with what is stored besides, unless the format has no place for it.
pub(super) fn write(media: &Media, left: &Value) -> Option<Value> {
    let own_type = left["mimeType"].as_str();
    let mut payload = match &media.source {
        MediaSource::Data { media_type, data } if is_base64(data) => {
            let media_type = own_type.unwrap_or(media_type);
            let data = match left["urlSafe"] {
                Value::Bool(true) => data.replace('+', "-").replace('/', "_"),
                _ => data.clone(),
            };
            json!({"mimeType": media_type, "data": data})
        }
        MediaSource::Url(url) => json!({"fileUri": url}),
        _ => return None,
    };
    // What the library wrote says itself whether it has a type.
    let url_type = own_type.or_else(|| media.media_type().filter(|_| left.is_null()));
    if let (Some(media_type), MediaSource::Url(_)) = (url_type, &media.source) {
        payload["mimeType"] = media_type.into();
    }
    if let Some(name) = &media.name {
        payload["displayName"] = name.as_str().into();
    }
    let is_inline = payload.get("data").is_some();
    let field = if is_inline { "inlineData" } else { "fileData" };
    Some(Value::from_iter([(field, payload)]))
}
