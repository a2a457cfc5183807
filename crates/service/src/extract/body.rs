use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};

use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// Reads a body of one of the `accepted` types, or returns `None` where there is none at all.
///
/// A length that is announced is checked before anything is read; one that is not, while reading.
pub(super) async fn read_body(
    request: Request,
    state: &AppState,
    accepted: &[&str],
) -> Result<Option<Bytes>, Problem> {
    let limit = state.limits.body_bytes;
    let headers = request.headers();
    check_encoding(headers)?;
    let has_type = check_type(headers, accepted)?;
    if announced_length(headers).is_some_and(|length| length > limit as u64) {
        return Err(too_large(limit));
    }
    let bytes = Bytes::from_request(request, state).await;
    let bytes = bytes.map_err(|rejection| unreadable(&rejection, limit))?;
    match (bytes.is_empty(), has_type) {
        (true, false) => Ok(None),
        (false, false) => Err(wrong_type(accepted)),
        (_, true) => Ok(Some(bytes)),
    }
}

/// Refuses compressed bodies: what they grow to is not known before they have grown.
fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    let is_identity = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if is_identity {
        return Ok(());
    }
    Err(Problem::new(ProblemKind::UNSUPPORTED_MEDIA_TYPE, "compressed bodies are not accepted"))
}

/// Tells whether the body has a type, and refuses the wrong ones.
fn check_type(headers: &HeaderMap, accepted: &[&str]) -> Result<bool, Problem> {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return Ok(false);
    };
    let text = value.to_str().unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_accepted = accepted.iter().any(|media_type| essence.eq_ignore_ascii_case(media_type));
    if is_accepted { Ok(true) } else { Err(wrong_type(accepted)) }
}

fn announced_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn wrong_type(accepted: &[&str]) -> Problem {
    let detail = format!("the body must have the Content-Type {}", accepted.join(" or "));
    Problem::new(ProblemKind::UNSUPPORTED_MEDIA_TYPE, detail)
}

fn unreadable(rejection: &BytesRejection, limit: usize) -> Problem {
    match rejection {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
            too_large(limit)
        }
        _ => Problem::new(ProblemKind::MALFORMED_JSON, "the body broke off before its end"),
    }
}

fn too_large(limit: usize) -> Problem {
    let detail = format!("the limit is {limit} bytes");
    Problem::new(ProblemKind::BODY_TOO_LARGE, detail)
}
