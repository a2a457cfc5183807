use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::media_type::{URL_TYPE, type_of_ending};
use super::provider::Provider;

/// An image, a sound or a file in the content of a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Media {
    pub(crate) kind: MediaKind,
    pub(crate) source: MediaSource,
    /// The file name.
    pub(crate) name: Option<String>,
    /// The media type that the message gives for the content at the URL.
    pub(crate) url_type: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediaKind {
    Image,
    Audio,
    File,
}

/// Where the bytes are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MediaSource {
    /// In the message itself, encoded in base64.
    Data { media_type: String, data: String },
    /// At a URL.
    Url(String),
    /// Uploaded to a provider, which alone knows them by this id.
    Id { id: String, owner: Provider },
}

impl Media {
    /// Reads a content part, if it is an image, a sound or a file.
    ///
    /// Returns `None` for a part with fields that [`Media`] cannot hold: reading it would lose them.
    pub(crate) fn read(part: &Value) -> Option<Self> {
        let media = match part.get("type")?.as_str()? {
            "image_url" => Self::read_image(part),
            "input_audio" => Self::read_audio(part),
            "file" => Self::read_file(part),
            _ => None,
        }?;
        Some(media.with_url_type(part.get(URL_TYPE).and_then(Value::as_str)))
    }

    fn read_image(part: &Value) -> Option<Self> {
        // `detail` is a hint that only one provider understands; losing it is reported.
        let [url, _detail] = text_fields(part.get("image_url")?, ["url", "detail"])?;
        Some(Self::new(MediaKind::Image, MediaSource::from_url(url?), filename(part)))
    }

    fn read_audio(part: &Value) -> Option<Self> {
        let [data, format] = text_fields(part.get("input_audio")?, ["data", "format"])?;
        let (data, media_type) = (data?.to_owned(), format!("audio/{}", format?));
        let source = MediaSource::Data { media_type, data };
        Some(Self::new(MediaKind::Audio, source, filename(part)))
    }

    fn read_file(part: &Value) -> Option<Self> {
        let fields = ["file_data", "file_url", "file_id", "filename"];
        let [data, url, id, name] = text_fields(part.get("file")?, fields)?;
        let source = match (data, url, id) {
            (Some(data), None, None) => MediaSource::from_data_url(data)?,
            (None, Some(url), None) => MediaSource::Url(url.to_owned()),
            (None, None, Some(id)) => MediaSource::from_id(id.to_owned(), part.get("provider")),
            _ => return None,
        };
        let kind = match part.get("kind").and_then(Value::as_str) {
            Some("image") => MediaKind::Image,
            _ => MediaKind::File,
        };
        Some(Self::new(kind, source, name.map(str::to_owned)))
    }

    /// Creates the media; for inline data, the media type decides the kind.
    pub(crate) fn new(kind: MediaKind, source: MediaSource, name: Option<String>) -> Self {
        let kind = match &source {
            MediaSource::Data { media_type, .. } => Self::kind_of(media_type),
            MediaSource::Url(_) | MediaSource::Id { .. } => kind,
        };
        Self { kind, source, name, url_type: None }
    }

    /// Adds the media type that a message gives for the content at the URL. It skips a type such as `image/*`, and media that are
    /// not at a URL.
    #[must_use]
    pub(crate) fn with_url_type(mut self, media_type: Option<&str>) -> Self {
        let is_at_url = matches!(self.source, MediaSource::Url(_));
        let said = media_type.filter(|it| is_at_url && !it.trim().is_empty() && !it.contains('*'));
        self.url_type = said.map(str::to_owned);
        // A stored sound at a URL is a file.
        if is_at_url
            && self.kind == MediaKind::File
            && self.media_type().is_some_and(|it| Self::kind_of(it) == MediaKind::Audio)
        {
            self.kind = MediaKind::Audio;
        }
        self
    }

    /// Returns the media type: that of inline data, or what is said of a URL or its ending says.
    pub(crate) fn media_type(&self) -> Option<&str> {
        match &self.source {
            MediaSource::Data { media_type, .. } => Some(media_type),
            MediaSource::Url(url) => self.url_type.as_deref().or_else(|| type_of_ending(url)),
            MediaSource::Id { .. } => None,
        }
    }

    /// Returns the `image_url` or `input_audio` part for a file that is an image or a sound.
    ///
    /// The part has no file name, and a sound has the common name of its format (`mp3`, `wav`).
    /// Returns `None` for any other part, and for an image that already is an `image_url` part.
    pub(crate) fn as_typed_part(part: &Value) -> Option<Value> {
        let media = Self::read(part).filter(|media| media.kind != MediaKind::File)?;
        (part["type"] != "image_url").then(|| Self { name: None, ..media }.into())
    }

    /// Returns the kind of media with this media type.
    pub(crate) fn kind_of(media_type: &str) -> MediaKind {
        match media_type.split_once('/') {
            Some(("image", _)) => MediaKind::Image,
            Some(("audio", _)) => MediaKind::Audio,
            _ => MediaKind::File,
        }
    }
}

impl MediaSource {
    /// Reads a URL; a `data:` URL holds the bytes itself.
    pub(crate) fn from_url(url: &str) -> Self {
        Self::from_data_url(url).unwrap_or_else(|| Self::Url(url.to_owned()))
    }

    /// Creates the source of an uploaded file, whose stored part may name the provider.
    pub(crate) fn from_id(id: String, provider: Option<&Value>) -> Self {
        let named = provider.and_then(Value::as_str).and_then(Provider::from_name);
        Self::Id { owner: named.unwrap_or_else(|| Provider::of_id(&id)), id }
    }

    /// Returns inline data as text, if that is what it holds.
    pub(crate) fn text(&self) -> Option<String> {
        let Self::Data { data, .. } = self else {
            return None;
        };
        String::from_utf8(STANDARD.decode(data).ok()?).ok()
    }

    fn from_data_url(url: &str) -> Option<Self> {
        let (header, data) = url.strip_prefix("data:")?.split_once(',')?;
        let media_type = header.strip_suffix(";base64")?;
        let plain = media_type.split(';').next().unwrap_or_default();
        // Only audio needs the parameters, such as the sample rate; the rest mean nothing for base64.
        let is_audio = Media::kind_of(plain) == MediaKind::Audio;
        let media_type = if is_audio { media_type } else { plain };
        let (media_type, data) = (media_type.to_owned(), data.to_owned());
        (!plain.is_empty()).then_some(Self::Data { media_type, data })
    }

    /// Returns the URL, or a `data:` URL; `None` if only a provider has the bytes.
    pub(crate) fn url(&self) -> Option<String> {
        match self {
            Self::Data { media_type, data } => Some(format!("data:{media_type};base64,{data}")),
            Self::Url(url) => Some(url.clone()),
            Self::Id { .. } => None,
        }
    }
}

impl From<Media> for Value {
    /// Writes the content part that [`Media::read`] reads.
    fn from(media: Media) -> Self {
        let Media { kind, source, name, url_type } = media;
        let mut part = match (kind, &source) {
            (MediaKind::Image, MediaSource::Data { .. } | MediaSource::Url(_)) => {
                json!({"type": "image_url", "image_url": {"url": source.url()}})
            }
            (MediaKind::Audio, MediaSource::Data { media_type, data }) => {
                let format = match media_type.strip_prefix("audio/").unwrap_or(media_type) {
                    "mpeg" => "mp3",
                    "wave" | "x-wav" => "wav",
                    other => other,
                };
                json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
            }
            _ => file(kind, &source, name.as_deref()),
        };
        if let Some(name) = name.filter(|_| part["type"] != "file") {
            part["filename"] = name.into();
        }
        if let (Some(said), MediaSource::Url(url)) = (url_type, &source)
            && type_of_ending(url) != Some(&said)
        {
            part[URL_TYPE] = said.into();
        }
        part
    }
}

/// Returns whether data of this media type is text that a model can read.
pub(crate) fn is_text_type(media_type: &str) -> bool {
    let plain = media_type.split(';').next().unwrap_or_default();
    plain.starts_with("text/") || plain == "application/json" || plain.ends_with("+json")
}

fn file(kind: MediaKind, source: &MediaSource, name: Option<&str>) -> Value {
    let (field, value) = match source {
        MediaSource::Data { .. } => ("file_data", source.url()),
        MediaSource::Url(url) => ("file_url", Some(url.clone())),
        MediaSource::Id { id, .. } => ("file_id", Some(id.clone())),
    };
    let mut file = Map::from_iter([(field.to_owned(), value.into())]);
    file.extend(name.map(|name| ("filename".to_owned(), name.into())));
    let mut part = json!({"type": "file", "file": file});
    // A part without these marks is one of `OpenAI`, whose parts have the stored form.
    if let MediaSource::Id { owner, .. } = source
        && *owner != Provider::OpenAi
    {
        part["provider"] = owner.name().into();
        if kind == MediaKind::Image {
            part["kind"] = "image".into();
        }
    }
    part
}

/// Returns the file name of an image or a sound, which is a field of its content part.
fn filename(part: &Value) -> Option<String> {
    part.get("filename")?.as_str().map(str::to_owned)
}

/// Returns the texts of the given fields; `None` if the object has other fields or other values.
///
/// A field that is null counts as missing.
fn text_fields<'a, const N: usize>(
    object: &'a Value,
    fields: [&str; N],
) -> Option<[Option<&'a str>; N]> {
    let object = object.as_object()?;
    let is_known = |(key, value): (&String, &Value)| {
        value.is_null() || fields.contains(&key.as_str()) && value.is_string()
    };
    let known = object.iter().all(is_known);
    known.then(|| fields.map(|field| object.get(field).and_then(Value::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_urls_with_parameters_are_read() {
        let cases = [
            ("data:text/plain;base64,aGk=", Some("text/plain")),
            ("data:text/plain;charset=utf-8;base64,aGk=", Some("text/plain")),
            ("data:audio/L16;rate=24000;base64,aGk=", Some("audio/L16;rate=24000")),
            ("data:;base64,aGk=", None),
            ("data:text/plain,hi", None),
        ];
        for (url, media_type) in cases {
            let expected = media_type.map_or_else(
                || MediaSource::Url(url.to_owned()),
                |it| MediaSource::Data { media_type: it.to_owned(), data: "aGk=".to_owned() },
            );
            assert_eq!(MediaSource::from_url(url), expected);
        }
    }
}
