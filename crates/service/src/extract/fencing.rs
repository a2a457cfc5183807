use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;

use super::path::path_param;
use crate::problem::Problem;

/// The header that names the lease under which a chat is written to.
const HEADER: &str = "fencing-token";

/// The fencing token of a lease, from the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FencingToken(pub(crate) u64);

impl<S: Sync> FromRequestParts<S> for FencingToken {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let text = path_param(parts, "fencing_token").await?;
        parse("fencing_token", &text).map(Self)
    }
}

/// Returns the token that a write carries, if it carries one; a read asks for none.
pub(super) fn carried(parts: &Parts) -> Result<Option<u64>, Problem> {
    if matches!(parts.method, Method::GET | Method::HEAD) {
        return Ok(None);
    }
    let mut values = parts.headers.get_all(HEADER).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => parse("Fencing-Token", value.to_str().unwrap_or_default()).map(Some),
        _ => Err(Problem::invalid_parameter("Fencing-Token", "must be given once")),
    }
}

fn parse(name: &str, text: &str) -> Result<u64, Problem> {
    const RULE: &str = "must be an integer from 1 to 9223372036854775807";
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|n| is_plain && *n > 0);
    let number = number.filter(|n| i64::try_from(*n).is_ok());
    number.ok_or_else(|| Problem::invalid_parameter(name, RULE))
}
