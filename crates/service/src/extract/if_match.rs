use axum::extract::{MatchedPath, Request};
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use records::{IfMatch, Scope};

use crate::problem::Problem;

/// The paths whose writes honour `If-Match`.
const CONDITIONAL: [&str; 4] = [
    "/api/chats/{app_id}/{chat_id}/context",
    "/api/chats/{app_id}/{chat_id}/context/restore",
    "/api/chats/{app_id}/{chat_id}/artifact",
    "/api/chats/{app_id}/{chat_id}/messages/{sequence}",
];

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

/// Refuses `If-Match` where it would not be honoured, so that it is never ignored.
pub(crate) async fn refuse_if_match(request: Request, next: Next) -> Result<Response, Problem> {
    if request.headers().contains_key(IF_MATCH) {
        let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let is_write = !matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_write || !CONDITIONAL.contains(&path) {
            let detail = "must be missing: it is honoured by writes of the context snapshot, the artifact and one message";
            return Err(Problem::invalid_parameter("If-Match", detail));
        }
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
    if is_read && response.status() == StatusCode::OK && is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().remove(axum::http::header::CONTENT_TYPE);
        response.headers_mut().remove(axum::http::header::CONTENT_LENGTH);
        *response.body_mut() = axum::body::Body::empty();
    }
    response
}
