use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method};

use super::only_header;
use super::path::{parse_number, path_param};
use crate::problem::Problem;

/// The header that carries the fencing token of the lease under which the caller writes.
const HEADER: &str = "fencing-token";

/// The fencing token of a lease, from the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathFencingToken(pub(crate) u64);

impl<S: Sync> FromRequestParts<S> for PathFencingToken {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let text = path_param(parts, "fencing_token").await?;
        parse_number("fencing_token", &text, 1).map(Self)
    }
}

/// Returns the fencing token of a write, if the request has one; reads are not fenced.
pub(super) fn fencing_header(parts: &Parts) -> Result<Option<u64>, Problem> {
    if matches!(parts.method, Method::GET | Method::HEAD) {
        return Ok(None);
    }
    let value = only_header(&parts.headers, HEADER, "Fencing-Token")?;
    let parse =
        |value: &HeaderValue| parse_number("Fencing-Token", value.to_str().unwrap_or_default(), 1);
    value.map(parse).transpose()
}
