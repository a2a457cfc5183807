use serde_json::{Map, Value, json};

/// A picture, a sound or a file within a content.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Media {
    pub(crate) kind: MediaKind,
    pub(crate) source: MediaSource,
    /// What it is called.
    pub(crate) name: Option<String>,
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
    /// Here, in base64.
    Data { media_type: String, data: String },
    /// At an address.
    Url(String),
    /// With a provider, by its id.
    Id(String),
}

impl Media {
    /// Reads a content part; what holds more than this could give back is left to the caller.
    pub(crate) fn read(part: &Value) -> Option<Self> {
        match part.get("type")?.as_str()? {
            "image_url" => Self::read_image(part),
            "input_audio" => Self::read_audio(part),
            "file" => Self::read_file(part),
            _ => None,
        }
    }

    fn read_image(part: &Value) -> Option<Self> {
        // How closely to look at it is for one provider to know.
        let [url, _detail] = only(part.get("image_url")?, ["url", "detail"])?;
        Some(Self::new(MediaKind::Image, MediaSource::of_url(url?), filename(part)))
    }

    fn read_audio(part: &Value) -> Option<Self> {
        let [data, format] = only(part.get("input_audio")?, ["data", "format"])?;
        let (data, media_type) = (data?.to_owned(), format!("audio/{}", format?));
        let source = MediaSource::Data { media_type, data };
        Some(Self::new(MediaKind::Audio, source, filename(part)))
    }

    fn read_file(part: &Value) -> Option<Self> {
        let fields = ["file_data", "file_url", "file_id", "filename"];
        let [data, url, id, name] = only(part.get("file")?, fields)?;
        let source = match (data, url, id) {
            (Some(data), None, None) => MediaSource::of_data_url(data)?,
            (None, Some(url), None) => MediaSource::Url(url.to_owned()),
            (None, None, Some(id)) => MediaSource::Id(id.to_owned()),
            _ => return None,
        };
        Some(Self::new(MediaKind::File, source, name.map(str::to_owned)))
    }

    /// Data is of the kind that its media type says.
    fn new(kind: MediaKind, source: MediaSource, name: Option<String>) -> Self {
        let kind = match &source {
            MediaSource::Data { media_type, .. } => Self::kind_of(media_type),
            MediaSource::Url(_) | MediaSource::Id(_) => kind,
        };
        Self { kind, source, name }
    }

    /// Returns a file that is a picture or a sound as the content part of one, without a name; a
    /// sound with the format named as others name it.
    pub(crate) fn bare(part: &Value) -> Option<Value> {
        let media = Self::read(part).filter(|media| media.kind != MediaKind::File)?;
        (part["type"] != "image_url").then(|| Self { name: None, ..media }.into())
    }

    /// Returns the kind of what has this media type.
    pub(crate) fn kind_of(media_type: &str) -> MediaKind {
        match media_type.split_once('/') {
            Some(("image", _)) => MediaKind::Image,
            Some(("audio", _)) => MediaKind::Audio,
            _ => MediaKind::File,
        }
    }
}

impl MediaSource {
    /// Reads an address, which may hold the data itself.
    pub(crate) fn of_url(url: &str) -> Self {
        Self::of_data_url(url).unwrap_or_else(|| Self::Url(url.to_owned()))
    }

    fn of_data_url(url: &str) -> Option<Self> {
        let (header, data) = url.strip_prefix("data:")?.split_once(',')?;
        let media_type = header.strip_suffix(";base64")?;
        let plain = media_type.split(';').next().unwrap_or_default();
        // What a sound is like, its parameters say; nothing else has any that matter in base64.
        let is_audio = Media::kind_of(plain) == MediaKind::Audio;
        let media_type = if is_audio { media_type } else { plain };
        let (media_type, data) = (media_type.to_owned(), data.to_owned());
        (!plain.is_empty()).then_some(Self::Data { media_type, data })
    }

    /// Returns the address, unless only a provider has the bytes.
    pub(crate) fn url(&self) -> Option<String> {
        match self {
            Self::Data { media_type, data } => Some(format!("data:{media_type};base64,{data}")),
            Self::Url(url) => Some(url.clone()),
            Self::Id(_) => None,
        }
    }
}

impl From<Media> for Value {
    /// Writes the content part that [`Media::read`] reads.
    fn from(media: Media) -> Self {
        let Media { kind, source, name } = media;
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
            _ => return file(&source, name),
        };
        if let Some(name) = name {
            part["filename"] = name.into();
        }
        part
    }
}

fn file(source: &MediaSource, name: Option<String>) -> Value {
    let (field, value) = match source {
        MediaSource::Data { .. } => ("file_data", source.url()),
        MediaSource::Url(url) => ("file_url", Some(url.clone())),
        MediaSource::Id(id) => ("file_id", Some(id.clone())),
    };
    let mut file = Map::from_iter([(field.to_owned(), value.into())]);
    file.extend(name.map(|name| ("filename".to_owned(), name.into())));
    json!({"type": "file", "file": file})
}

/// Returns what a picture or a sound is called, which stands beside it.
fn filename(part: &Value) -> Option<String> {
    part.get("filename")?.as_str().map(str::to_owned)
}

/// Returns the texts of the fields, if the object has no others.
fn only<'a, const N: usize>(object: &'a Value, fields: [&str; N]) -> Option<[Option<&'a str>; N]> {
    let object = object.as_object()?;
    let known =
        object.iter().all(|(key, value)| fields.contains(&key.as_str()) && value.is_string());
    known.then(|| fields.map(|field| object.get(field).and_then(Value::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_read_with_parameters_too() {
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
            assert_eq!(MediaSource::of_url(url), expected);
        }
    }
}
