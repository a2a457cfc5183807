use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::header::IF_NONE_MATCH;
use axum::http::request::Parts;

use crate::operation::{Description, Input, header};
use crate::problem::Problem;

/// Whether the document must not exist yet: the header `If-None-Match: *`.
#[derive(Debug)]
pub(crate) struct OnlyNew(pub(crate) bool);

impl<S: Sync> FromRequestParts<S> for OnlyNew {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        match parts.headers.get(IF_NONE_MATCH).map(HeaderValue::as_bytes) {
            None => Ok(Self(false)),
            Some(b"*") => Ok(Self(true)),
            Some(_) => Err(Problem::invalid_parameter("If-None-Match", "must be * or missing")),
        }
    }
}

impl Input for OnlyNew {
    fn describe(description: &mut Description) {
        let text = "`*`: the document is only created; if there is one, the write is refused with `precondition-failed`.";
        description.parameter(header("If-None-Match", text, "*"));
        description.honours_if_none_match();
    }
}
