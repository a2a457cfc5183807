use axum::extract::State;
use operation::operation;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use super::sign_in;
use crate::auth::Redirect;
use crate::config::LimitsConfig;
use crate::extract::{FromParams, Params, Query, declared};
use crate::problem::Problem;
use crate::state::AppState;

/// The query of a sign-in.
#[derive(Debug, IntoParams)]
pub(crate) struct BeginParams {
    /// The path of this service to which the browser is sent afterwards; the dashboard if it is missing.
    #[param(example = "/dashboard")]
    return_to: Option<String>,
}

impl FromParams for BeginParams {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { return_to: params.take("return_to")? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Sends a browser to the issuer, where the person signs in.
#[operation(answers = "The browser goes to the issuer", problems = [SIGN_IN_FAILED, NO_SIGN_IN])]
pub(crate) async fn begin_sign_in(
    State(state): State<AppState>,
    Query(params): Query<BeginParams>,
) -> Result<Redirect, Problem> {
    sign_in(&state)?.begin(params.return_to.as_deref()).await
}
