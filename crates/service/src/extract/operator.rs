use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use records::{Actor, AppId, Permission};

use super::identity::identified;
use super::path::PathParam as _;
use super::scope::{app_id, check_app};
use crate::auth::Identity;
use crate::operation::{Description, Input};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// A request by an operator, who manages the registry of apps.
#[derive(Debug)]
pub(crate) struct Operator(pub(crate) Identity);

impl FromRequestParts<AppState> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        identity.require(Permission::Administer)?;
        Ok(Self(identity))
    }
}

impl Input for Operator {
    fn describe(description: &mut Description) {
        description.permission(Permission::Administer);
        description.problems(&[ProblemKind::FORBIDDEN_ROLE]);
    }
}

/// A request by an operator about one of their apps, registered or not.
#[derive(Debug)]
pub(crate) struct OperatedApp {
    pub(crate) app_id: AppId,
    pub(crate) actor: Actor,
}

impl FromRequestParts<AppState> for OperatedApp {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let Operator(identity) = Operator::from_request_parts(parts, state).await?;
        let app_id = app_id(parts).await?;
        check_app(&app_id, &identity)?;
        Ok(Self { app_id, actor: identity.actor() })
    }
}

impl Input for OperatedApp {
    fn describe(description: &mut Description) {
        Operator::describe(description);
        AppId::describe(description);
        description.problems(&[ProblemKind::INVALID_APP_ID, ProblemKind::FORBIDDEN_APP]);
    }
}
