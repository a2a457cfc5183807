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

/// How much of a body is expected once any of it has arrived, in bytes.
const FIRST_STEP: usize = 64 << 10;

/// How much more is expected of a body each time that it has filled what was expected.
const GROWTH: usize = 4;

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
    let announced = content_length(headers);
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(too_large(limit));
    }
    let memory = RequestMemory::of(request.extensions())?;
    collect(request.into_body(), announced, limit, &memory).await
}

/// Collects a body in one buffer.
///
/// The memory for the body and its values is reserved in steps, as the body arrives. A caller who only announces a body reserves
/// nothing.
async fn collect(
    body: Body,
    announced: Option<u64>,
    limit: usize,
    memory: &RequestMemory,
) -> Result<Bytes, Problem> {
    let most = announced.and_then(|length| usize::try_from(length).ok()).unwrap_or(limit);
    let (mut collected, mut room) = (Vec::new(), 0);
    let mut frames = body.into_data_stream();
    while let Some(frame) = frames.try_next().await.map_err(|_| cut_short())? {
        let length = collected.len() + frame.len();
        if length > limit {
            return Err(too_large(limit));
        }
        if length > room {
            let step = length.max(FIRST_STEP).max(GROWTH * room).min(most.max(length));
            memory.reserve(TIMES_BODY * (step - room)).await?;
            room = step;
            collected.reserve_exact(room - collected.len());
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use futures::{StreamExt as _, stream};

    use super::*;
    use crate::admission::{MemoryBudget, Subject};
    use crate::config::LimitsConfig;

    const MIB: usize = 1 << 20;

    #[tokio::test]
    async fn a_body_reserves_what_has_arrived_and_some_more() {
        let limits = LimitsConfig {
            memory_bytes: 64 * MIB,
            memory_bytes_per_subject: 64 * MIB,
            memory_wait_ms: 5,
            ..LimitsConfig::default()
        };
        let budget = Arc::new(MemoryBudget::new(&limits));
        for (sent, held) in [(0, 0), (1, 192 << 10), (MIB, 3 * MIB), (5 * MIB, 48 * MIB)] {
            let memory = budget.of(Subject::Address(None));
            let arrived =
                stream::iter(vec![Ok(Bytes::from(vec![b' '; 1 << 10])); sent.div_ceil(1 << 10)]);
            let body = Body::from_stream(arrived.chain(stream::pending::<Result<_, Infallible>>()));
            let request = RequestMemory::new(memory.clone());
            let collecting = collect(body, Some(16 << 20), 16 << 20, &request);
            let rest = async {
                let enough = memory.reserve(64 * MIB - held).await;
                assert!(enough.is_ok(), "{sent}");
                drop(enough);
                assert!(memory.reserve(64 * MIB - held + 1).await.is_err() == (held > 0), "{sent}");
            };
            tokio::select! {
                biased;
                _ = collecting => panic!("the body has no end"),
                () = rest => {}
            }
        }
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_collected() {
        let budget = Arc::new(MemoryBudget::new(&LimitsConfig::default()));
        for length in [0, 1, 64 << 10, (64 << 10) + 1, MIB] {
            let request = RequestMemory::new(budget.of(Subject::Address(None)));
            let frames = vec![b'x'; length];
            let frames: Vec<Result<_, Infallible>> =
                frames.chunks(10_000).map(|frame| Ok(Bytes::copy_from_slice(frame))).collect();
            let body = Body::from_stream(stream::iter(frames));
            let collected = collect(body, None, MIB, &request).await.unwrap();
            assert_eq!(collected.len(), length);
        }
        let request = RequestMemory::new(budget.of(Subject::Address(None)));
        let refused = collect(Body::from(vec![0; 11]), None, 10, &request).await.unwrap_err();
        assert_eq!(refused.kind(), ProblemKind::BODY_TOO_LARGE);
    }
}
