use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use records::{AppId, Scope, UserId};

use super::path::parse_path_param;
use super::scope::{app_id, authorize_app, check_acts_for, required_app_id};
use crate::auth::{Identity, Privilege};
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
        let scope = authorize_app(app_id, identity, state).await?;
        check_acts_for(&scope.caller, &user_id, "a user may use only their own wallet")?;
        Ok(Self { scope, user_id })
    }
}

impl FromRequestParts<AppState> for WalletScope {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        Ok(read_wallet_scope(parts, state).await?.0)
    }
}

/// Reads a request to a wallet, and its caller.
async fn read_wallet_scope(
    parts: &mut Parts,
    state: &AppState,
) -> Result<(WalletScope, Identity), Problem> {
    let identity = state.authenticator.identify(&parts.headers)?;
    let app_id = app_id(parts).await?;
    let user_id = parse_path_param(parts, "user_id").await?;
    let wallet = WalletScope::new(app_id, user_id, &identity, state).await?;
    Ok((wallet, identity))
}

/// A request that may create or credit a wallet; users may not.
#[derive(Debug)]
pub(crate) struct CreditScope {
    pub(crate) scope: Scope,
    pub(crate) user_id: UserId,
}

impl FromRequestParts<AppState> for CreditScope {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let (WalletScope { scope, user_id }, identity) = read_wallet_scope(parts, state).await?;
        identity.require(Privilege::CreditWallets)?;
        Ok(Self { scope, user_id })
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
        let identity = state.authenticator.identify(&parts.headers)?;
        Ok(Self { identity, user_id: parse_path_param(parts, "user_id").await? })
    }
}

impl UnscopedUser {
    /// Returns the scope of the user's wallet in an app.
    pub(crate) async fn wallet_in(
        self,
        app_id: Option<&str>,
        state: &AppState,
    ) -> Result<WalletScope, Problem> {
        WalletScope::new(required_app_id(app_id)?, self.user_id, &self.identity, state).await
    }
}
