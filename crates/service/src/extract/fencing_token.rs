use axum::http::request::Parts;
use axum::http::{HeaderValue, Method};
use utoipa::openapi::path::{Parameter, ParameterIn};

use super::only_header;
use super::path::FencingToken;
use crate::openapi::values;
use crate::operation::parameter;
use crate::problem::Problem;

/// The header that carries the fencing token of the lease under which the caller writes.
const HEADER: &str = "fencing-token";

/// Returns the fencing token of a write, if the request has one; reads are not fenced.
pub(super) fn fencing_header(parts: &Parts) -> Result<Option<u64>, Problem> {
    if matches!(parts.method, Method::GET | Method::HEAD) {
        return Ok(None);
    }
    let value = only_header(&parts.headers, HEADER, "Fencing-Token")?;
    let parse = |value: &HeaderValue| {
        let token = value.to_str().unwrap_or_default().parse();
        token.map(|FencingToken(token)| token)
    };
    let token = value.map(parse).transpose();
    token.map_err(|rule| Problem::invalid_parameter("Fencing-Token", rule))
}

/// Describes the header.
pub(super) fn described() -> Parameter {
    let text = "The fencing token of the lease under which the caller writes. Once the lease is lost, the write is \
        refused with `fenced`.";
    parameter(ParameterIn::Header, "Fencing-Token", text, values::number_from(1), None)
}
