use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use persistence::StoreError;
use records::{AssistantId, AuditAction, Caller, Permission, Scope};

use super::conditions::{Conditions, Unconditional};
use super::identity::identified;
use super::if_match::if_match_header;
use super::needs::Needed;
use super::path::{PathParam, parse_path_param};
use super::scope::{app_id, authorize_app, describe_app};
use crate::operation::{Description, Input};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// A request to the assistants of an app, which needs the permission `P` in each of them.
#[derive(Debug)]
pub(crate) struct AssistantsScope<P>(pub(crate) Scope, pub(crate) PhantomData<P>);

impl<P: Needed> FromRequestParts<AppState> for AssistantsScope<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let scope = authorize_app(app_id(parts).await?, &identity, P::PERMISSION, state).await?;
        record_support(state, &scope).await?;
        Ok(Self(scope, PhantomData))
    }
}

impl<P: Needed> Input for AssistantsScope<P> {
    fn describe(description: &mut Description) {
        describe_app(description, P::PERMISSION);
        description.problems(&[ProblemKind::FORBIDDEN_APP]);
    }
}

/// A request to one assistant, which needs the permission `P`.
///
/// An assistant of an app that the caller's token does not name is answered with 404, like an id that was never used.
#[derive(Debug)]
pub(crate) struct AssistantScope<P, C = Unconditional> {
    pub(crate) scope: Scope,
    pub(crate) assistant_id: AssistantId,
    kind: PhantomData<(P, C)>,
}

impl<P: Needed, C: Conditions> FromRequestParts<AppState> for AssistantScope<P, C> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let app_id = app_id(parts).await?;
        let assistant_id: AssistantId = parse_path_param(parts).await?;
        identity.check_revoked_in(&app_id)?;
        if !identity.may_use_app(&app_id) {
            return Err(StoreError::AssistantNotFound(assistant_id).into());
        }
        let scope = authorize_app(app_id, &identity, P::PERMISSION, state).await?;
        record_support(state, &scope).await?;
        let scope = Scope { if_match: if_match_header(parts)?, ..scope };
        Ok(Self { scope, assistant_id, kind: PhantomData })
    }
}

impl<P: Needed, C: Conditions> Input for AssistantScope<P, C> {
    fn describe(description: &mut Description) {
        describe_app(description, P::PERMISSION);
        AssistantId::describe(description);
        description.problems(&[ProblemKind::ASSISTANT_NOT_FOUND]);
        C::describe(description);
    }
}

/// Records in the audit log that support reads assistants. The store records what support changes.
async fn record_support(state: &AppState, scope: &Scope) -> Result<(), Problem> {
    let is_support = matches!(scope.caller, Caller::Support { .. });
    if is_support && scope.permission == Permission::Read {
        state.store.record_chat_read(scope, None, AuditAction::ReadAssistants).await?;
    }
    Ok(())
}
