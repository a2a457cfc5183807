use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use records::{AppId, Permission, Scope, UserId};

use super::identity::identified;
use super::path::parse_path_param;
use super::scope::{app_id, authorize_app, check_acts_for, required_app_id};
use crate::auth::Identity;
use crate::problem::Problem;
use crate::state::AppState;

/// A request to a wallet.
///
/// A user that names another user's wallet is refused with 403. The answer is the same whether that wallet
/// exists or not.
#[derive(Debug)]
pub(crate) struct WalletScope {
    pub(crate) scope: Scope,
    pub(crate) user_id: UserId,
}

impl WalletScope {
    async fn new(
        app_id: AppId,
        user_id: UserId,
        identity: &Identity,
        state: &AppState,
    ) -> Result<Self, Problem> {
        let scope = authorize_app(app_id, identity, Permission::Read, state).await?;
        check_acts_for(&scope.caller, &user_id, "a user may use only their own wallet")?;
        Ok(Self { scope, user_id })
    }
}

impl FromRequestParts<AppState> for WalletScope {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let app_id = app_id(parts).await?;
        let user_id = parse_path_param(parts, "user_id").await?;
        Self::new(app_id, user_id, &identity, state).await
    }
}

/// A request that changes a wallet. What users spend is what their workflows report, so they do not change it.
#[derive(Debug)]
pub(crate) struct BillScope(pub(crate) WalletScope);

impl FromRequestParts<AppState> for BillScope {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let wallet = WalletScope::from_request_parts(parts, state).await?;
        identified(parts, state).await?.require(Permission::Bill)?;
        Ok(Self(wallet))
    }
}

/// A request about a user, to a route whose path names no app.
#[derive(Debug)]
pub(crate) struct UnscopedUser {
    identity: Identity,
    user_id: UserId,
}

impl FromRequestParts<AppState> for UnscopedUser {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        Ok(Self { identity, user_id: parse_path_param(parts, "user_id").await? })
    }
}

impl UnscopedUser {
    /// Returns the scope of the user's wallet in an app, for a call that changes it.
    pub(crate) async fn billed_wallet_in(
        self,
        app_id: Option<&str>,
        state: &AppState,
    ) -> Result<WalletScope, Problem> {
        let identity = self.identity.clone();
        let wallet = self.wallet_in(app_id, state).await?;
        identity.require(Permission::Bill)?;
        Ok(wallet)
    }

    /// Returns the scope of the user's wallet in an app.
    pub(crate) async fn wallet_in(
        self,
        app_id: Option<&str>,
        state: &AppState,
    ) -> Result<WalletScope, Problem> {
        WalletScope::new(required_app_id(app_id)?, self.user_id, &self.identity, state).await
    }
}
