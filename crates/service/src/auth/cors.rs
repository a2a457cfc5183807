use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::request_id::X_REQUEST_ID;

/// How long a browser may remember the response to a preflight.
const MAX_AGE: Duration = Duration::from_mins(10);

/// Lets pages of these origins read responses, with the token that they send in a header. Cookies are not permitted.
pub(super) fn layer(origins: impl IntoIterator<Item = HeaderValue>) -> CorsLayer {
    let fencing_token = HeaderName::from_static("fencing-token");
    let last_event_id = HeaderName::from_static("last-event-id");
    let (accept, token) = (header::ACCEPT, header::AUTHORIZATION);
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([
            accept,
            token,
            header::CONTENT_TYPE,
            fencing_token,
            last_event_id,
            X_REQUEST_ID,
        ])
        .expose_headers([
            header::LOCATION,
            header::RETRY_AFTER,
            HeaderName::from_static("ratelimit-limit"),
            HeaderName::from_static("ratelimit-remaining"),
            HeaderName::from_static("ratelimit-reset"),
            X_REQUEST_ID,
        ])
        .max_age(MAX_AGE)
}
