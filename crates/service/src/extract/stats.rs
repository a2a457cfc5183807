use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use records::{AppId, WorkflowName};

use super::path::parse_path_param;
use super::scope::{admitted, app_id};
use crate::auth::{Identity, Privilege};
use crate::problem::Problem;
use crate::state::AppState;

/// A call by somebody who may read what the workflows of an app do, whoever may see which chat.
#[derive(Debug)]
pub(crate) struct StatsReader(pub(crate) AppId);

impl FromRequestParts<AppState> for StatsReader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = state.authenticator.identify(&parts.headers)?;
        let app_id = app_id(parts).await?;
        let scope = admitted(app_id, &identity, state).await?;
        identity.require(Privilege::ReadStats)?;
        Ok(Self(scope.app_id))
    }
}

/// Such a call about one workflow.
#[derive(Debug)]
pub(crate) struct OfWorkflow {
    pub(crate) app_id: AppId,
    pub(crate) workflow_name: WorkflowName,
}

impl FromRequestParts<AppState> for OfWorkflow {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let StatsReader(app_id) = StatsReader::from_request_parts(parts, state).await?;
        Ok(Self { app_id, workflow_name: parse_path_param(parts, "workflow_name").await? })
    }
}

/// A call by somebody who may read what workflows do, about all the apps that the token names.
#[derive(Debug)]
pub(crate) struct OfApps(pub(crate) Identity);

impl FromRequestParts<AppState> for OfApps {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = state.authenticator.identify(&parts.headers)?;
        identity.require(Privilege::ReadStats)?;
        Ok(Self(identity))
    }
}
