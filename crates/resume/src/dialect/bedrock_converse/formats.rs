//! The formats of media, by kind of block, with their media types. The first media type of a format is the one that is stored.

use crate::canonical::plain_type;

/// The media types of images.
pub(super) const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The media types of sounds.
pub(super) const SOUNDS: &[&str] = &[
    "audio/mp3",
    "audio/mpeg",
    "audio/wav",
    "audio/wave",
    "audio/x-wav",
    "audio/opus",
    "audio/aac",
    "audio/flac",
    "audio/ogg",
    "audio/mp4",
    "audio/m4a",
    "audio/webm",
];

/// The media types of documents and videos.
pub(super) const FILES: &[&str] = &[
    "application/pdf",
    "text/csv",
    "application/msword",
    WORD,
    "application/vnd.ms-excel",
    EXCEL,
    "text/html",
    "text/plain",
    "text/markdown",
    "video/x-matroska",
    "video/quicktime",
    "video/mp4",
    "video/webm",
    "video/x-flv",
    "video/mpeg",
    "video/x-ms-wmv",
    "video/3gpp",
];

const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const EXCEL: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// Each kind of block, a format of it, and a media type of the format.
const FORMATS: [(&str, &str, &str); 37] = [
    ("image", "png", "image/png"),
    ("image", "jpeg", "image/jpeg"),
    ("image", "gif", "image/gif"),
    ("image", "webp", "image/webp"),
    ("document", "pdf", "application/pdf"),
    ("document", "csv", "text/csv"),
    ("document", "doc", "application/msword"),
    ("document", "docx", WORD),
    ("document", "xls", "application/vnd.ms-excel"),
    ("document", "xlsx", EXCEL),
    ("document", "html", "text/html"),
    ("document", "txt", "text/plain"),
    ("document", "md", "text/markdown"),
    ("video", "mkv", "video/x-matroska"),
    ("video", "mov", "video/quicktime"),
    ("video", "mp4", "video/mp4"),
    ("video", "webm", "video/webm"),
    ("video", "flv", "video/x-flv"),
    ("video", "mpeg", "video/mpeg"),
    ("video", "mpg", "video/mpeg"),
    ("video", "wmv", "video/x-ms-wmv"),
    ("video", "three_gp", "video/3gpp"),
    ("audio", "mp3", "audio/mp3"),
    ("audio", "mp3", "audio/mpeg"),
    ("audio", "mpeg", "audio/mpeg"),
    ("audio", "mpga", "audio/mpeg"),
    ("audio", "wav", "audio/wav"),
    ("audio", "wav", "audio/wave"),
    ("audio", "wav", "audio/x-wav"),
    ("audio", "opus", "audio/opus"),
    ("audio", "aac", "audio/aac"),
    ("audio", "x-aac", "audio/aac"),
    ("audio", "flac", "audio/flac"),
    ("audio", "ogg", "audio/ogg"),
    ("audio", "mp4", "audio/mp4"),
    ("audio", "m4a", "audio/m4a"),
    ("audio", "webm", "audio/webm"),
];

/// Returns the kind of block and the format for a media type.
pub(super) fn of_type(media_type: &str) -> Option<(&'static str, &'static str)> {
    let plain = plain_type(media_type);
    let found = FORMATS.iter().find(|(_, _, known)| *known == plain)?;
    Some((found.0, found.1))
}

/// Returns the kind of block and the format for the ending of a URL.
pub(super) fn of_url(url: &str) -> Option<(&'static str, &'static str)> {
    let ending = url.rsplit_once('/')?.1.rsplit_once('.')?.1.to_ascii_lowercase();
    let format = match ending.as_str() {
        "jpg" => "jpeg",
        "3gp" => "three_gp",
        "htm" => "html",
        other => other,
    };
    // Of several kinds with this format, such as videos and sounds in `mp4`, the first one is the most common.
    FORMATS.iter().find(|(_, known, _)| *known == format).map(|found| (found.0, found.1))
}

/// Returns the media type of a format.
pub(super) fn media_type(kind: &str, format: &str) -> Option<&'static str> {
    FORMATS.iter().find(|known| known.0 == kind && known.1 == format).map(|found| found.2)
}

/// Returns a kind of block and its format, if they are known.
pub(super) fn known(kind: &str, format: &str) -> Option<(&'static str, &'static str)> {
    FORMATS.iter().find(|known| known.0 == kind && known.1 == format).map(|it| (it.0, it.1))
}
