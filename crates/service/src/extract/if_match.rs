use axum::extract::Request;
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use records::{IfMatch, Scope};
use utoipa::openapi::path::Parameter;

use crate::operation::{Description, Output, header};
use crate::problem::Problem;

/// Returns what `If-Match` says of a write.
pub(super) fn if_match_header(parts: &Parts) -> Result<Option<IfMatch>, Problem> {
    if !parts.headers.contains_key(IF_MATCH) {
        return Ok(None);
    }
    let refuse =
        || Problem::invalid_parameter("If-Match", "must be * or entity tags such as \"3\"");
    let tags = tags(&parts.headers, &IF_MATCH).ok_or_else(refuse)?;
    match &*tags {
        [] => Err(refuse()),
        ["*"] => Ok(Some(IfMatch::Any)),
        // A weak tag never matches here (RFC 9110, section 13.1.1).
        tags => {
            let strong = tags.iter().filter(|tag| !tag.starts_with("W/"));
            let unquoted = strong.map(|tag| unquoted(tag).map(str::to_owned).ok_or_else(refuse));
            unquoted.collect::<Result<_, _>>().map(|tags| Some(IfMatch::Tags(tags)))
        }
    }
}

/// The tags of all headers with a name; `None` if one is not text.
fn tags<'a>(headers: &'a HeaderMap, name: &axum::http::HeaderName) -> Option<Vec<&'a str>> {
    let values = headers.get_all(name).iter().map(|value| value.to_str().ok());
    let values: Option<Vec<_>> = values.collect();
    let tags = values?.into_iter().flat_map(|value| value.split(',')).map(str::trim);
    Some(tags.filter(|tag| !tag.is_empty()).collect())
}

fn unquoted(tag: &str) -> Option<&str> {
    tag.strip_prefix('"')?.strip_suffix('"')
}

/// Describes the header.
pub(super) fn described() -> Parameter {
    let text = "The `ETag` of the record as the caller has read it, or `*` for any. If the record is another one by \
        then, the write is refused with `precondition-failed`.";
    header("If-Match", text, "\"3\"")
}

/// Refuses `If-Match` where it would not be honoured, so that it is never ignored.
pub(crate) async fn refuse_if_match(request: Request, next: Next) -> Result<Response, Problem> {
    if request.headers().contains_key(IF_MATCH) {
        let detail = "must be missing: it is honoured by writes of the context snapshot, the artifact, one message, one assistant, one document and the chat itself";
        return Err(Problem::invalid_parameter("If-Match", detail));
    }
    Ok(next.run(request).await)
}

/// Refuses `If-None-Match` of a write that would not honour it, so that it is never ignored.
pub(crate) async fn refuse_if_none_match(
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if request.headers().contains_key(IF_NONE_MATCH) {
        let detail =
            "must be missing: of all writes, only the one that replaces a document honours it";
        return Err(Problem::invalid_parameter("If-None-Match", detail));
    }
    Ok(next.run(request).await)
}

/// Returns the entity tag of a record whose version the write in a scope has raised; `None` if it is not known, because
/// the write did not depend on one version.
pub(crate) fn tag_after_write(scope: &Scope) -> Option<String> {
    match scope.if_match.as_ref()?.versions()?[..] {
        [seen] => Some((seen + 1).to_string()),
        _ => None,
    }
}

/// A response with the entity tag of its record. To a `GET` whose `If-None-Match` names the tag it is 304.
pub(crate) struct Tagged<R> {
    pub(crate) tag: Option<String>,
    pub(crate) response: R,
}

impl<R: Output> Output for Tagged<R> {
    fn describe(description: &mut Description) {
        R::describe(description);
        description.response_header("ETag", "The entity tag of the record, if it is known");
        if description.is_read() {
            let text = "The `ETag` of the record as the caller has it. If it is still the same, the response is 304 \
                without a body.";
            description.parameter(header("If-None-Match", text, "\"3\""));
            description.response(StatusCode::NOT_MODIFIED, "The caller has it already");
        }
    }
}

impl<R: IntoResponse> IntoResponse for Tagged<R> {
    fn into_response(self) -> Response {
        let mut response = self.response.into_response();
        let tag = self.tag.and_then(|tag| HeaderValue::from_str(&format!("\"{tag}\"")).ok());
        if let Some(tag) = tag {
            response.headers_mut().insert(ETAG, tag);
        }
        response
    }
}

/// Answers a `GET` with 304 if the caller has the record already.
pub(crate) async fn answer_if_none_match(request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let known: Vec<_> = tags(request.headers(), &IF_NONE_MATCH).unwrap_or_default();
    let known: Vec<_> =
        known.into_iter().map(|tag| tag.trim_start_matches("W/").to_owned()).collect();
    let mut response = next.run(request).await;
    let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
    let is_known = tag.is_some_and(|tag| known.iter().any(|known| known == tag || known == "*"));
    // Whether the answer would be a part or a refusal: a range counts after the condition (RFC 9110, section 13.2.2).
    if is_read && is_known {
        response.headers_mut().remove(axum::http::header::CONTENT_RANGE);
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().remove(axum::http::header::CONTENT_TYPE);
        response.headers_mut().remove(axum::http::header::CONTENT_LENGTH);
        *response.body_mut() = axum::body::Body::empty();
    }
    response
}
