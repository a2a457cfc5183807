use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use records::AppId;

use super::scope::app_id;
use crate::auth::Privilege;
use crate::problem::Problem;
use crate::state::AppState;

/// A request by an operator, who manages the registry of apps.
#[derive(Debug)]
pub(crate) struct Operator;

impl FromRequestParts<AppState> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = state.authenticator.identify(&parts.headers)?;
        identity.require(Privilege::ManageApps).map(|()| Self)
    }
}

/// A request by an operator about one app, registered or not.
#[derive(Debug)]
pub(crate) struct OperatedApp(pub(crate) AppId);

impl FromRequestParts<AppState> for OperatedApp {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        Operator::from_request_parts(parts, state).await?;
        Ok(Self(app_id(parts).await?))
    }
}
