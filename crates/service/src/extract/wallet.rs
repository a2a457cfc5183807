use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use records::{AppId, Scope, UserId};

use super::path::parse_path_param;
use super::scope::{admitted, app_id, check_is_own, named_app};
use crate::auth::{Identity, Privilege};
use crate::problem::Problem;
use crate::state::AppState;

/// A call to a wallet.
///
/// A user who names another is refused with 403: the answer is the same whether that wallet exists
/// or not.
#[derive(Debug)]
pub(crate) struct InWallet {
    pub(crate) scope: Scope,
    pub(crate) user_id: UserId,
}

impl InWallet {
    async fn admitted(
        app_id: AppId,
        user_id: UserId,
        identity: &Identity,
        state: &AppState,
    ) -> Result<Self, Problem> {
        let scope = admitted(app_id, identity, state).await?;
        check_is_own(&scope.caller, &user_id, "a user has only their own wallet")?;
        Ok(Self { scope, user_id })
    }
}

impl FromRequestParts<AppState> for InWallet {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        Ok(in_wallet(parts, state).await?.0)
    }
}

/// Reads a call to a wallet, and who makes it.
async fn in_wallet(parts: &mut Parts, state: &AppState) -> Result<(InWallet, Identity), Problem> {
    let identity = state.authenticator.identify(&parts.headers)?;
    let app_id = app_id(parts).await?;
    let user_id = parse_path_param(parts, "user_id").await?;
    let wallet = InWallet::admitted(app_id, user_id, &identity, state).await?;
    Ok((wallet, identity))
}

/// A call that may put tokens into a wallet, which no user may.
#[derive(Debug)]
pub(crate) struct FillWallet {
    pub(crate) scope: Scope,
    pub(crate) user_id: UserId,
}

impl FromRequestParts<AppState> for FillWallet {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let (InWallet { scope, user_id }, identity) = in_wallet(parts, state).await?;
        identity.require(Privilege::FillWallets)?;
        Ok(Self { scope, user_id })
    }
}

/// A call about a user that names its app outside the path.
#[derive(Debug)]
pub(crate) struct OfUser {
    identity: Identity,
    user_id: UserId,
}

impl FromRequestParts<AppState> for OfUser {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = state.authenticator.identify(&parts.headers)?;
        Ok(Self { identity, user_id: parse_path_param(parts, "user_id").await? })
    }
}

impl OfUser {
    /// Opens the user's wallet in the app named.
    pub(crate) async fn wallet_in(
        self,
        app_id: Option<&str>,
        state: &AppState,
    ) -> Result<InWallet, Problem> {
        InWallet::admitted(named_app(app_id)?, self.user_id, &self.identity, state).await
    }
}
