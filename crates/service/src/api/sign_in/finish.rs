use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use utoipa::IntoParams;

use super::sign_in;
use crate::auth::{Redirect, Returned};
use crate::problem::{Problem, SignInProblems};
use crate::state::AppState;

/// The query with which the issuer sends a browser back. Others of its parameters are ignored.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes the query; `Returned` reads it")]
pub(crate) struct FinishParams {
    /// What the service exchanges for an ID token.
    code: Option<String>,
    /// What the service has sent to the issuer.
    state: Option<String>,
    /// The issuer.
    iss: Option<String>,
    /// Why the person was not signed in.
    error: Option<String>,
}

/// Signs in a person whom the issuer has sent back, and sends the browser to the page that it came from.
///
/// The session is in a cookie that only this service gets back, over an encrypted connection, and that no script can
/// read.
#[utoipa::path(
    get, path = "/api/sign-in/callback", tag = "sign-in", operation_id = "finish_sign_in", security(()),
    params(FinishParams),
    responses((status = 303, description = "The person is signed in"), SignInProblems),
)]
pub(crate) async fn finish_sign_in(
    State(state): State<AppState>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Redirect, Problem> {
    let returned = Returned::from_query(query.as_deref().unwrap_or_default());
    sign_in(&state)?.finish(&headers, returned).await
}
