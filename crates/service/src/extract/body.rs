use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use futures::TryStreamExt as _;

use crate::admission::RequestMemory;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// The memory for a body and its parsed values, as a multiple of the size of the body.
pub(super) const TIMES_BODY: usize = 3;

/// Reads a body of one of the `accepted` media types; `None` if the request has no body.
///
/// A `Content-Length` above the limit is refused before anything is read. Without the header the limit is
/// checked while reading.
pub(super) async fn read_body(
    request: Request,
    state: &AppState,
    accepted: &[&str],
) -> Result<Option<Bytes>, Problem> {
    let has_type = check_type(request.headers(), accepted)?;
    let bytes = read_content(request, state.limits.body_bytes).await?;
    match (bytes.is_empty(), has_type) {
        (true, false) => Ok(None),
        (false, false) => Err(wrong_type(accepted)),
        (_, true) => Ok(Some(bytes)),
    }
}

/// Reads a body of any media type, of at most `limit` bytes.
pub(super) async fn read_content(request: Request, limit: usize) -> Result<Bytes, Problem> {
    let headers = request.headers();
    check_encoding(headers)?;
    let announced = content_length(headers).unwrap_or(0);
    if announced > limit as u64 {
        return Err(too_large(limit));
    }
    let memory = RequestMemory::of(request.extensions())?;
    collect(request.into_body(), announced, limit, &memory).await
}

/// Collects a body in one buffer, which is allocated once if the length was announced.
///
/// The memory for the body and its values is reserved before it is read, in steps if the length is unknown.
async fn collect(
    body: Body,
    announced: u64,
    limit: usize,
    memory: &RequestMemory,
) -> Result<Bytes, Problem> {
    let mut room = usize::try_from(announced).unwrap_or(limit);
    memory.reserve(TIMES_BODY * room).await?;
    let mut collected = Vec::with_capacity(room);
    let mut frames = body.into_data_stream();
    while let Some(frame) = frames.try_next().await.map_err(|_| cut_short())? {
        let length = collected.len() + frame.len();
        if length > limit {
            return Err(too_large(limit));
        }
        if length > room {
            let further = length.next_power_of_two().min(limit) - room;
            memory.reserve(TIMES_BODY * further).await?;
            room += further;
        }
        collected.extend_from_slice(&frame);
    }
    Ok(collected.into())
}

/// Refuses compressed bodies: their size is known only after they are decompressed.
fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    let is_identity = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if is_identity {
        return Ok(());
    }
    Err(Problem::new(
        ProblemKind::UNSUPPORTED_MEDIA_TYPE,
        "compressed bodies are not supported; send the body without Content-Encoding",
    ))
}

/// Tells whether the request has a `Content-Type`, and refuses a wrong one.
fn check_type(headers: &HeaderMap, accepted: &[&str]) -> Result<bool, Problem> {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return Ok(false);
    };
    let text = value.to_str().unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_accepted = accepted.iter().any(|media_type| essence.eq_ignore_ascii_case(media_type));
    if is_accepted { Ok(true) } else { Err(wrong_type(accepted)) }
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn wrong_type(accepted: &[&str]) -> Problem {
    let detail = format!("the Content-Type must be {}", accepted.join(" or "));
    Problem::new(ProblemKind::UNSUPPORTED_MEDIA_TYPE, detail)
}

fn cut_short() -> Problem {
    let detail = "the connection closed before the end of the body";
    Problem::new(ProblemKind::MALFORMED_JSON, detail)
}

fn too_large(limit: usize) -> Problem {
    let detail = format!("the body is larger than the limit of {limit} bytes");
    Problem::new(ProblemKind::BODY_TOO_LARGE, detail)
}
