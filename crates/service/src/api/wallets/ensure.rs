use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::created::Created;
use crate::extract::needs::Bill;
use crate::extract::{Keyed, OptionalJson, Query, WalletScope};
use crate::problem::Problem;
use crate::wire::WalletResponse;

/// The initial state of a new wallet.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"initial_balance": 1000}))]
pub(crate) struct EnsureWalletRequest {
    /// Whole tokens.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    initial_balance: i64,
}

impl Keyed for EnsureWalletRequest {}

/// Returns a wallet, and creates it if it does not exist.
///
/// The initial balance is used only for a new wallet; an existing wallet is returned unchanged.
#[operation(answers = "The new wallet", repeated = "The wallet that exists")]
pub(crate) async fn ensure_wallet(
    State(store): State<Arc<dyn Store>>,
    WalletScope { scope, user_id, .. }: WalletScope<Bill>,
    Query(()): Query<()>,
    OptionalJson(request): OptionalJson<EnsureWalletRequest>,
) -> Result<Created<WalletResponse>, Problem> {
    let wallet = store.ensure_wallet(&scope, &user_id, request.initial_balance).await?;
    Ok(wallet.into())
}
