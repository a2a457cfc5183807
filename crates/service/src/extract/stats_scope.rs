use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use records::{AppId, Permission, UserId, WorkflowName};

use super::identity::identified;
use super::path::{PathParam, parse_path_param};
use super::scope::{app_id, check_app, describe_app};
use crate::auth::Identity;
use crate::operation::{Description, Input};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// A request by a caller that may read the statistics of an app, whatever the visibility of its chats.
#[derive(Debug)]
pub(crate) struct AppStatsScope(pub(crate) AppId);

impl FromRequestParts<AppState> for AppStatsScope {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let app_id = app_id(parts).await?;
        check_app(&app_id, &identity)?;
        state.registry.check(&app_id).await?;
        identity.require(Permission::Observe)?;
        Ok(Self(app_id))
    }
}

impl Input for AppStatsScope {
    fn describe(description: &mut Description) {
        describe_app(description, Permission::Observe);
        description.problems(&[ProblemKind::FORBIDDEN_APP]);
    }
}

/// A request by such a caller about one workflow.
#[derive(Debug)]
pub(crate) struct WorkflowScope {
    pub(crate) app_id: AppId,
    pub(crate) workflow_name: WorkflowName,
}

impl FromRequestParts<AppState> for WorkflowScope {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let AppStatsScope(app_id) = AppStatsScope::from_request_parts(parts, state).await?;
        Ok(Self { app_id, workflow_name: parse_path_param(parts).await? })
    }
}

impl Input for WorkflowScope {
    fn describe(description: &mut Description) {
        AppStatsScope::describe(description);
        WorkflowName::describe(description);
    }
}

/// A request by such a caller about one user.
#[derive(Debug)]
pub(crate) struct UserStatsScope {
    pub(crate) app_id: AppId,
    pub(crate) user_id: UserId,
}

impl FromRequestParts<AppState> for UserStatsScope {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let AppStatsScope(app_id) = AppStatsScope::from_request_parts(parts, state).await?;
        Ok(Self { app_id, user_id: parse_path_param(parts).await? })
    }
}

impl Input for UserStatsScope {
    fn describe(description: &mut Description) {
        AppStatsScope::describe(description);
        UserId::describe(description);
    }
}

/// A request by a caller that may read statistics, about all apps that its token names.
#[derive(Debug)]
pub(crate) struct AllStatsScope(pub(crate) Identity);

impl FromRequestParts<AppState> for AllStatsScope {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        identity.require(Permission::Observe)?;
        Ok(Self(identity))
    }
}

impl Input for AllStatsScope {
    fn describe(description: &mut Description) {
        description.permission(Permission::Observe);
        description.problems(&[ProblemKind::FORBIDDEN_ROLE]);
    }
}
