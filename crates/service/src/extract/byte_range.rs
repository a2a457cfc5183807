use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::header::{IF_RANGE, RANGE};
use axum::http::request::Parts;
use persistence::DocumentRange;

use crate::operation::{Description, Input, header};
use crate::problem::{Problem, ProblemKind};

/// The part of a content that the header `Range` asks for, if it asks for one. A range of another form is ignored, as if the
/// header were missing (RFC 9110, section 14.2).
#[derive(Debug)]
pub(crate) struct ByteRange {
    /// The part.
    pub(crate) range: Option<DocumentRange>,
    /// The header `If-Range`: the entity tag, with its quotation marks, of the content that the caller has a part of. If the content
    /// is another one, the caller wants all of it.
    pub(crate) only_of: Option<String>,
}

impl<S: Sync> FromRequestParts<S> for ByteRange {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let mut ranges = parts.headers.get_all(RANGE).iter();
        let only = ranges.next().filter(|_| ranges.next().is_none());
        let range = only.and_then(|value| parse(value.to_str().ok()?));
        let only_of = parts.headers.get(IF_RANGE);
        // What is no text is the tag of no content.
        let only_of = only_of.map(|tag| tag.to_str().unwrap_or_default().trim().to_owned());
        Ok(Self { range, only_of })
    }
}

impl Input for ByteRange {
    fn describe(description: &mut Description) {
        let text = "One range of bytes, such as `bytes=0-99`, `bytes=100-` or `bytes=-100`; the response is 206. At most 8 MiB are \
            returned at once: `Content-Range` says which.";
        description.parameter(header("Range", text, "bytes=0-99"));
        let text = "The `ETag` of the content that the caller has a part of. If the document has another content, the service \
            ignores `Range`.";
        description.parameter(header("If-Range", text, "\"3\""));
        description.problems(&[ProblemKind::RANGE_NOT_SATISFIABLE]);
        description.response(StatusCode::PARTIAL_CONTENT, "The part of the content");
    }
}

fn parse(text: &str) -> Option<DocumentRange> {
    let (first, last) = text.strip_prefix("bytes=")?.trim().split_once('-')?;
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    if first.is_empty() {
        return Some(DocumentRange::Last(number(last)?));
    }
    let first = number(first)?;
    if last.is_empty() {
        return Some(DocumentRange::From(first, u64::MAX));
    }
    let last = number(last).filter(|last| *last >= first)?;
    Some(DocumentRange::From(first, (last - first).saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_read_and_others_are_ignored() {
        assert_eq!(parse("bytes=0-0"), Some(DocumentRange::From(0, 1)));
        assert_eq!(parse("bytes=5-9"), Some(DocumentRange::From(5, 5)));
        assert_eq!(parse("bytes=5-"), Some(DocumentRange::From(5, u64::MAX)));
        assert_eq!(parse("bytes=-5"), Some(DocumentRange::Last(5)));
        let far = "99999999999999999999";
        assert_eq!(parse(&format!("bytes={far}-")), Some(DocumentRange::From(u64::MAX, u64::MAX)));
        for text in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=9-5",
            "bytes=0-1,3-4",
            "lines=0-1",
            "bytes=+1-2",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
