use std::convert::Infallible;

use axum::extract::{FromRequestParts, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use operation::operation;
use utoipa::IntoParams;

use super::sign_in;
use crate::auth::{Redirect, Returned};
use crate::extract::declared;
use crate::operation::{Description, Input};
use crate::problem::Problem;
use crate::state::AppState;

/// The query with which the issuer sends a browser back. Others of its parameters are ignored.
#[derive(Debug, IntoParams)]
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

/// The query, read without a refusal: it comes from the issuer.
#[derive(Debug)]
pub(crate) struct ReturnedQuery(Returned);

impl<S: Sync> FromRequestParts<S> for ReturnedQuery {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(Returned::from_query(parts.uri.query().unwrap_or_default())))
    }
}

impl Input for ReturnedQuery {
    fn describe(description: &mut Description) {
        description.parameters(declared::<FinishParams>());
    }
}

/// Signs in a person whom the issuer has sent back, and sends the browser to the page that it came from.
///
/// The session is in a cookie that only this service gets back, over an encrypted connection, and that no script can
/// read.
#[operation(answers = "The person is signed in", problems = [SIGN_IN_FAILED, NO_SIGN_IN])]
pub(crate) async fn finish_sign_in(
    State(state): State<AppState>,
    headers: HeaderMap,
    ReturnedQuery(returned): ReturnedQuery,
) -> Result<Redirect, Problem> {
    sign_in(&state)?.finish(&headers, returned).await
}
