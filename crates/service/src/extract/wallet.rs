use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use records::{AppId, Caller, Scope, UserId};

use super::path::parse_path_param;
use super::scope::{admitted, app_id, parse_app_id};
use crate::auth::Identity;
use crate::problem::{Problem, ProblemKind};
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
        identity: Identity,
        state: &AppState,
    ) -> Result<Self, Problem> {
        let scope = admitted(app_id, identity, state).await?;
        if scope.caller.may_open_wallet_of(&user_id) {
            return Ok(Self { scope, user_id });
        }
        Err(Problem::new(ProblemKind::FORBIDDEN_OWNER, "a user has only their own wallet"))
    }
}

impl FromRequestParts<AppState> for InWallet {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = state.authenticator.identify(&parts.headers)?;
        let app_id = app_id(parts).await?;
        let user_id = parse_path_param(parts, "user_id").await?;
        Self::admitted(app_id, user_id, identity, state).await
    }
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
        let InWallet { scope, user_id } = InWallet::from_request_parts(parts, state).await?;
        if scope.caller == Caller::Service {
            return Ok(Self { scope, user_id });
        }
        let detail = "only a token with the role service may fill a wallet";
        Err(Problem::new(ProblemKind::FORBIDDEN_ROLE, detail))
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
        let missing = || Problem::new(ProblemKind::INVALID_APP_ID, "app_id is missing");
        let app_id = parse_app_id(app_id.ok_or_else(missing)?)?;
        InWallet::admitted(app_id, self.user_id, self.identity, state).await
    }
}
