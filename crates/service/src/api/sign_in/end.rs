use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::sign_in;
use crate::auth::session;
use crate::problem::{Problem, ProblemKind, SignInProblems};
use crate::state::AppState;

/// Ends the session of the browser.
///
/// The session's cookie is refused by this process at once, and by others within `limits.recheck_ms`.
#[utoipa::path(
    post, path = "/api/sign-out", tag = "sign-in", operation_id = "sign_out", security(()),
    params(("x-csrf-token" = Option<String>, Header, description = "The `csrf_token` of `GET /api/session`")),
    responses((status = 204, description = "The person is signed out"), SignInProblems),
)]
pub(crate) async fn sign_out(
    State(state): State<AppState>,
    method: Method,
    headers: HeaderMap,
) -> Result<(StatusCode, [(HeaderName, HeaderValue); 1]), Problem> {
    let sign_in = sign_in(&state)?;
    let Some(secret) = session(&headers) else {
        let detail = "a token has no session; it ends when it expires or is revoked";
        return Err(Problem::new(ProblemKind::NO_SIGN_IN, detail));
    };
    state.authenticator.identify(&method, &headers).await?;
    let cookie = sign_in.end(&secret).await?;
    state.authenticator.forget(&secret);
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]))
}
