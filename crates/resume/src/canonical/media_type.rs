/// The field of a stored part with the media type of what is at its URL, if the ending does not say it.
pub(crate) const URL_TYPE: &str = "mimeType";

/// Returns a media type without its parameters, in lower case.
pub(crate) fn plain_type(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns the media type for the ending of a path.
pub(crate) fn type_of_ending(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next()?;
    let (_, file) = path.rsplit_once("://")?.1.rsplit_once('/')?;
    let ending = file.rsplit_once('.')?.1.to_ascii_lowercase();
    Some(match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "gif" => "image/gif",
        "mp3" => "audio/mp3",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "ogg" => "audio/ogg",
        "aac" => "audio/aac",
        "m4a" => "audio/m4a",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "json" => "application/json",
        "doc" => "application/msword",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls" => "application/vnd.ms-excel",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "ppt" => "application/vnd.ms-powerpoint",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "htm" | "html" => "text/html",
        "mp4" => "video/mp4",
        "mpg" | "mpeg" => "video/mpeg",
        "mov" => "video/quicktime",
        "webm" => "video/webm",
        "avi" => "video/x-msvideo",
        "wmv" => "video/x-ms-wmv",
        "flv" => "video/x-flv",
        "3gp" => "video/3gpp",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_a_path_says_the_type() {
        let cases = [
            ("https://example.org/a.PNG?x=.pdf#b", Some("image/png")),
            ("gs://bucket/a.b/tour.mp4", Some("video/mp4")),
            ("https://example.org/a", None),
            ("https://example.png", None),
            ("a.png", None),
        ];
        for (url, media_type) in cases {
            assert_eq!(type_of_ending(url), media_type, "{url}");
        }
    }
}
