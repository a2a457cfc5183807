use axum::extract::State;
use utoipa::IntoParams;

use super::sign_in;
use crate::auth::Redirect;
use crate::config::LimitsConfig;
use crate::extract::{FromParams, Params, Query};
use crate::problem::{Problem, SignInProblems};
use crate::state::AppState;

/// The query of a sign-in.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct BeginParams {
    /// The path of this service to which the browser is sent afterwards; the dashboard if it is missing.
    #[param(example = "/dashboard")]
    return_to: Option<String>,
}

impl FromParams for BeginParams {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { return_to: params.take("return_to")? })
    }
}

/// Sends a browser to the issuer, where the person signs in.
#[utoipa::path(
    get, path = "/api/sign-in", tag = "sign-in", operation_id = "begin_sign_in", security(()),
    params(BeginParams),
    responses((status = 303, description = "The browser goes to the issuer"), SignInProblems),
)]
pub(crate) async fn begin_sign_in(
    State(state): State<AppState>,
    Query(params): Query<BeginParams>,
) -> Result<Redirect, Problem> {
    sign_in(&state)?.begin(params.return_to.as_deref()).await
}
