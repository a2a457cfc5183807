use axum::extract::State;
use operation::operation;
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{FromParams, Json, Params, Query, UnscopedUser, declared};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;

/// The app of the wallet.
#[derive(Debug, IntoParams)]
pub(crate) struct BalanceQuery {
    /// The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    #[param(value_type = values::AppId)]
    app_id: Option<String>,
}

impl FromParams for BalanceQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { app_id: params.take("app_id")? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// The balance of a user.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BalanceResponse {
    /// Whole tokens; 0 if the user has no wallet.
    #[schema(example = 1000)]
    balance: i64,
    /// The same as `balance`.
    #[schema(example = 1000)]
    remaining: i64,
    #[schema(example = "user_alice_456")]
    user_id: String,
    #[schema(example = "acme_corp")]
    app_id: String,
}

/// Returns the balance of a user in an app.
#[operation(answers = "The balance")]
pub(crate) async fn token_balance(
    State(state): State<AppState>,
    user: UnscopedUser<Read>,
    Query(query): Query<BalanceQuery>,
) -> Result<Json<BalanceResponse>, Problem> {
    let wallet = user.wallet_in(query.app_id.as_deref(), &state).await?;
    let found = state.store.get_wallet(&wallet.scope, &wallet.user_id).await?;
    let balance = found.map_or(0, |found| found.balance);
    Ok(Json(BalanceResponse {
        balance,
        remaining: balance,
        user_id: wallet.user_id.into(),
        app_id: wallet.scope.app_id.into(),
    }))
}
