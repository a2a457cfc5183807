use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_RANGE, CONTENT_TYPE};
use persistence::offload;
use records::NewDocument;
use serde::de::IgnoredAny;

use super::body::read_content;
use super::idempotency_key::IdempotencyKey;
use super::json::{JSON, malformed};
use crate::openapi::values;
use crate::operation::{Description, Input};
use crate::problem::Problem;
use crate::state::AppState;

/// The media type of a content for which the caller names none.
pub(crate) const BYTES: &str = "application/octet-stream";

/// The longest key of a write: a document remembers those of its last writes.
const MAX_KEY_CHARS: usize = 256;

/// A body of any type, as it is. One of the type `application/json` is JSON.
#[derive(Debug)]
pub(crate) struct AnyContent {
    pub(crate) content_type: String,
    pub(crate) bytes: Bytes,
    /// The id by which a repeated request is recognised, if the request has one.
    pub(crate) write_id: Option<String>,
}

impl FromRequest<AppState> for AnyContent {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let mut write_id: Option<String> = None;
        if let Some(key) = IdempotencyKey::given(&request)? {
            key.fill("write_id", &mut write_id)?;
        }
        if write_id.as_ref().is_some_and(|it| it.len() > MAX_KEY_CHARS) {
            let detail = format!("must have at most {MAX_KEY_CHARS} characters");
            return Err(Problem::invalid_parameter("Idempotency-Key", detail));
        }
        // RFC 9110, section 14.5: otherwise a part would take the place of the whole.
        if request.headers().contains_key(CONTENT_RANGE) {
            let detail = "must be missing: a content is stored whole";
            return Err(Problem::invalid_parameter("Content-Range", detail));
        }
        let content_type = request.headers().get(CONTENT_TYPE).map(HeaderValue::to_str);
        let content_type = content_type.unwrap_or(Ok(BYTES)).map_err(|_| {
            Problem::invalid_parameter("Content-Type", "must consist of visible ASCII characters")
        })?;
        let content_type = content_type.trim().to_owned();
        let limit = state.limits.body_bytes.min(NewDocument::MAX_BYTES);
        let bytes = read_content(request, limit).await?;
        if is_json(&content_type) {
            let text = bytes.clone();
            let checked = offload(text.len(), move || serde_json::from_slice::<IgnoredAny>(&text));
            checked.await.map_err(malformed)?;
        }
        Ok(Self { content_type, bytes, write_id })
    }
}

impl Input for AnyContent {
    fn describe(description: &mut Description) {
        description.content_body::<values::Content>(&[BYTES, JSON], MAX_KEY_CHARS);
    }
}

/// Returns whether a media type is that of JSON.
pub(crate) fn is_json(content_type: &str) -> bool {
    content_type.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case(JSON))
}
