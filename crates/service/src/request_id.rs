use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use records::{Ids as _, Uuid7Ids};

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request, in its response and in every log line about it.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(HeaderValue);

impl RequestId {
    /// Returns the id that the caller sent if it is 1 to 64 of `A-Z a-z 0-9 _ -`, otherwise a new one.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let given = headers.get(X_REQUEST_ID).filter(|id| is_request_id(id));
        let minted = || HeaderValue::try_from(Uuid7Ids.mint("req_"));
        match given {
            Some(id) => Self(id.clone()),
            None => Self(minted().unwrap_or(HeaderValue::from_static("unknown"))),
        }
    }

    /// Returns the value of the header that carries the id.
    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

fn is_request_id(id: &HeaderValue) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&id.len()) && id.as_bytes().iter().all(is_allowed)
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let known = parts.extensions.get().cloned();
        Ok(known.unwrap_or_else(|| Self::from_headers(&parts.headers)))
    }
}
