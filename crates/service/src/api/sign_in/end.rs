use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use operation::operation;
use utoipa::PartialSchema as _;
use utoipa::openapi::path::ParameterIn;

use super::sign_in;
use crate::auth::session;
use crate::operation::{Description, Output, parameter};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// Ends the session of the browser.
///
/// The session's cookie is refused by this process at once, and by others within `limits.recheck_ms`.
#[operation(answers = "The person is signed out", problems = [SIGN_IN_FAILED, NO_SIGN_IN])]
pub(crate) async fn sign_out(
    State(state): State<AppState>,
    method: Method,
    headers: HeaderMap,
) -> Result<SignedOut, Problem> {
    let sign_in = sign_in(&state)?;
    let Some(secret) = session(&headers) else {
        let detail = "a token has no session; it ends when it expires or is revoked";
        return Err(Problem::new(ProblemKind::NO_SIGN_IN, detail));
    };
    state.authenticator.identify(&method, &headers).await?;
    let cookie = sign_in.end(&secret).await?;
    state.authenticator.forget(&secret);
    Ok(SignedOut(cookie))
}

/// The browser forgets its session.
#[derive(Debug)]
pub(crate) struct SignedOut(HeaderValue);

impl IntoResponse for SignedOut {
    fn into_response(self) -> Response {
        (StatusCode::NO_CONTENT, [(SET_COOKIE, self.0)]).into_response()
    }
}

impl Output for SignedOut {
    fn describe(description: &mut Description) {
        let text = "The `csrf_token` of `GET /api/session`";
        let token = parameter(ParameterIn::Header, "x-csrf-token", text, String::schema(), None);
        description.parameter(token);
        description.answers(StatusCode::NO_CONTENT);
    }
}
