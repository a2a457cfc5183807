use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::request_id::X_REQUEST_ID;

/// How long a browser may remember the response to a preflight.
const MAX_AGE: Duration = Duration::from_mins(10);

/// Lets pages of these origins read responses, with the token that they send in a header. Cookies are not permitted.
pub(super) fn layer(origins: impl IntoIterator<Item = HeaderValue>) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::ACCEPT,
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::IF_MATCH,
            header::IF_NONE_MATCH,
            header::RANGE,
            HeaderName::from_static("fencing-token"),
            HeaderName::from_static("idempotency-key"),
            HeaderName::from_static("last-event-id"),
            HeaderName::from_static("prefer"),
            X_REQUEST_ID,
        ])
        .expose_headers([
            header::CONTENT_RANGE,
            header::ETAG,
            header::LOCATION,
            header::RETRY_AFTER,
            HeaderName::from_static("ratelimit-limit"),
            HeaderName::from_static("ratelimit-remaining"),
            HeaderName::from_static("ratelimit-reset"),
            HeaderName::from_static("reprise-version"),
            X_REQUEST_ID,
        ])
        .max_age(MAX_AGE)
}
