use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use records::{AppId, Permission, Scope, UserId};

use super::identity::identified;
use super::needs::Needed;
use super::path::{PathParam, parse_path_param};
use super::scope::{
    app_id, authorize_app, check_acts_for, describe_app, describe_in_app, required_app_id,
};
use crate::auth::Identity;
use crate::operation::{Description, Input};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// A request to a wallet, which needs the permission `P`.
///
/// A user that names another user's wallet is refused with 403. The answer is the same whether that wallet
/// exists or not. What users spend is what their workflows report, so users do not change their wallets.
#[derive(Debug)]
pub(crate) struct WalletScope<P> {
    pub(crate) scope: Scope,
    pub(crate) user_id: UserId,
    needed: PhantomData<P>,
}

impl<P: Needed> WalletScope<P> {
    async fn new(
        app_id: AppId,
        user_id: UserId,
        identity: &Identity,
        state: &AppState,
    ) -> Result<Self, Problem> {
        let scope = authorize_app(app_id, identity, Permission::Read, state).await?;
        check_acts_for(&scope.caller, &user_id, "a user may use only their own wallet")?;
        if P::PERMISSION != Permission::Read {
            identity.require(P::PERMISSION)?;
        }
        Ok(Self { scope, user_id, needed: PhantomData })
    }
}

impl<P: Needed> FromRequestParts<AppState> for WalletScope<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let app_id = app_id(parts).await?;
        let user_id = parse_path_param(parts).await?;
        Self::new(app_id, user_id, &identity, state).await
    }
}

impl<P: Needed> Input for WalletScope<P> {
    fn describe(description: &mut Description) {
        describe_app(description, P::PERMISSION);
        describe_wallet(description);
    }
}

/// A request about the wallet of a user, to a route whose path names no app. It needs the permission `P`.
#[derive(Debug)]
pub(crate) struct UnscopedUser<P> {
    identity: Identity,
    user_id: UserId,
    needed: PhantomData<P>,
}

impl<P: Needed> FromRequestParts<AppState> for UnscopedUser<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let user_id = parse_path_param(parts).await?;
        Ok(Self { identity, user_id, needed: PhantomData })
    }
}

impl<P: Needed> Input for UnscopedUser<P> {
    fn describe(description: &mut Description) {
        describe_in_app(description, P::PERMISSION);
        describe_wallet(description);
    }
}

impl<P: Needed> UnscopedUser<P> {
    /// Returns the scope of the user's wallet in an app.
    pub(crate) async fn wallet_in(
        self,
        app_id: Option<&str>,
        state: &AppState,
    ) -> Result<WalletScope<P>, Problem> {
        WalletScope::new(required_app_id(app_id)?, self.user_id, &self.identity, state).await
    }
}

fn describe_wallet(description: &mut Description) {
    UserId::describe(description);
    description.problems(&[ProblemKind::FORBIDDEN_APP, ProblemKind::FORBIDDEN_OWNER]);
}
