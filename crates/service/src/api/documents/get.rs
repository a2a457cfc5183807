use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use operation::operation;
use persistence::{DocumentContent, DocumentRange, Store, StoreError};

use crate::admission::{RequestMemory, Reserve};
use crate::extract::needs::Read;
use crate::extract::{BYTES, ByteRange, DocumentScope, Query, Tagged};
use crate::openapi::values;
use crate::operation::{Description, Output};
use crate::problem::{Problem, ProblemKind};

/// How many bytes are read before the size of the document is known.
const FIRST_BYTES: u64 = 256 << 10;
/// The memory for a first part, in MiB: a reply of the database, which also has the end of the content, and the part.
const FIRST_MIB: usize = 1;

/// A content, or a part of it.
pub(crate) enum ContentResponse {
    /// All of it, to a request without a range.
    Whole(DocumentContent),
    /// The part that the request named.
    Part(DocumentContent),
    /// The size alone, to a `HEAD`.
    Nothing(DocumentContent),
    /// The request names a part behind the end of a content of this size.
    Beyond(u64),
    /// The content has this size, which is too large for an answer to a request without a range.
    TooLarge(u64),
}

impl IntoResponse for ContentResponse {
    fn into_response(self) -> Response {
        let is_part = matches!(self, Self::Part(_));
        let is_head = matches!(self, Self::Nothing(_));
        let part = match self {
            Self::Whole(content) | Self::Nothing(content) | Self::Part(content) => content,
            Self::Beyond(size) => {
                let detail = format!("the content has {size} bytes");
                let problem = Problem::new(ProblemKind::RANGE_NOT_SATISFIABLE, detail);
                return with_range(problem.into_response(), &format!("bytes */{size}"));
            }
            Self::TooLarge(size) => {
                let detail = format!(
                    "must be given: the document has {size} bytes, and an answer at most {}",
                    DocumentRange::MAX_BYTES
                );
                return Problem::invalid_parameter("Range", detail).into_response();
            }
        };
        let DocumentContent { head, offset, content } = part;
        let content_type = HeaderValue::from_str(&head.content_type);
        let headers = [
            (CONTENT_TYPE, content_type.unwrap_or(HeaderValue::from_static(BYTES))),
            (ACCEPT_RANGES, HeaderValue::from_static("bytes")),
            // A page that was stored here must not run in the origin of the service.
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'")),
        ];
        if is_head {
            // What a `GET` would have.
            return (headers, [(CONTENT_LENGTH, head.size)]).into_response();
        }
        if !is_part {
            return (headers, content).into_response();
        }
        let last = (offset + content.len() as u64).saturating_sub(1);
        let response = (StatusCode::PARTIAL_CONTENT, headers, content).into_response();
        with_range(response, &format!("bytes {offset}-{last}/{}", head.size))
    }
}

fn with_range(mut response: Response, range: &str) -> Response {
    if let Ok(range) = HeaderValue::from_str(range) {
        response.headers_mut().insert(CONTENT_RANGE, range);
    }
    response
}

impl Output for ContentResponse {
    fn describe(description: &mut Description) {
        // Two of the media types: the document has the one that it was stored with.
        for media_type in [BYTES, "application/json"] {
            description.answers_content::<values::Content>(StatusCode::OK, media_type);
        }
    }
}

/// Returns the content of a document, or a part of it.
///
/// A document of more than 8 MiB is read in parts, with `Range`. `HEAD` returns the size and the `ETag` alone.
#[operation(answers = "The content")]
pub(crate) async fn get_document(
    State(store): State<Arc<dyn Store>>,
    DocumentScope { scope, id: path, .. }: DocumentScope<Read>,
    Query(()): Query<()>,
    ByteRange { mut range, only_of }: ByteRange,
    method: Method,
    memory: RequestMemory,
    _: Reserve<FIRST_MIB>,
) -> Result<Tagged<ContentResponse>, Problem> {
    let read = async |range| {
        let read = store.read_document(&scope, &path, range).await?;
        read.ok_or_else(|| Problem::from(StoreError::DocumentNotFound(path.clone())))
    };
    if let Some(tag) = only_of.filter(|_| range.is_some()) {
        let head = read(DocumentRange::Nothing).await?.head;
        range = range.filter(|_| format!("\"{}\"", head.entity_tag()) == tag);
    }
    let wanted = range.unwrap_or(DocumentRange::From(0, u64::MAX));
    let first = match wanted {
        DocumentRange::From(from, count) => DocumentRange::From(from, count.min(FIRST_BYTES)),
        DocumentRange::Last(count) if count > FIRST_BYTES => DocumentRange::Nothing,
        wanted => wanted,
    };
    if method == Method::HEAD && range.is_none() {
        let content = read(DocumentRange::Nothing).await?;
        let tag = Some(content.head.entity_tag());
        return Ok(Tagged { tag, response: ContentResponse::Nothing(content) });
    }
    let mut part = read(first).await?;
    let size = part.head.size;
    let needed = match wanted {
        DocumentRange::Nothing => 0,
        DocumentRange::From(from, count) => count.min(size.saturating_sub(from)),
        DocumentRange::Last(count) => count.min(size),
    };
    if range.is_some() && needed == 0 {
        let tag = Some(part.head.entity_tag());
        return Ok(Tagged { tag, response: ContentResponse::Beyond(size) });
    }
    if needed > part.content.len() as u64 && (range.is_some() || size <= DocumentRange::MAX_BYTES) {
        let bytes = usize::try_from(needed.min(DocumentRange::MAX_BYTES)).unwrap_or(usize::MAX);
        // A reply of the database, and the content.
        memory.reserve((16 << 20) + bytes).await?;
        part = read(wanted).await?;
    }
    let tag = Some(part.head.entity_tag());
    if range.is_some() {
        return Ok(Tagged { tag, response: ContentResponse::Part(part) });
    }
    if part.content.len() as u64 != part.head.size {
        return Ok(Tagged { tag, response: ContentResponse::TooLarge(part.head.size) });
    }
    Ok(Tagged { tag, response: ContentResponse::Whole(part) })
}
