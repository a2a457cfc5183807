use axum::extract::Request;
use axum::http::header::{CONNECTION, HOST, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::arrival::Arrival;
use crate::problem::{Problem, ProblemKind};

/// Says in the response that the connection closes, if it answers a request whose body was not read: the server does close it,
/// and a client that is not told loses the next request that it sends there.
///
/// A head that a proxy may understand in another way than this server is refused.
pub(crate) async fn close_unread(request: Request, next: Next) -> Response {
    if let Some(refusal) = ambiguity(request.headers()) {
        return closing(refusal.into_response());
    }
    let (body, request) = Arrival::watch(request);
    let response = next.run(request).await;
    let is_open = response.status() == StatusCode::SWITCHING_PROTOCOLS || body.has_ended();
    if is_open { response } else { closing(response) }
}

/// Returns the refusal of a head by which a proxy may see another host, or another end of the body.
fn ambiguity(headers: &HeaderMap) -> Option<Problem> {
    let (kind, detail) = if headers.get_all(HOST).iter().nth(1).is_some() {
        (ProblemKind::INVALID_HOST, "Host must be there once")
    } else if has_other_coding(headers) {
        (ProblemKind::INVALID_TRANSFER_ENCODING, "Transfer-Encoding must be chunked, or missing")
    } else {
        return None;
    };
    Some(Problem::new(kind, detail))
}

fn has_other_coding(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let first = codings.next();
    let is_chunked =
        |coding: &HeaderValue| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    first.is_some_and(|coding| !is_chunked(coding)) || codings.next().is_some()
}

fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
