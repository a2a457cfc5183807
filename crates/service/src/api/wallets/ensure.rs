use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use serde::Deserialize;
use utoipa::ToSchema;

use super::WalletResponse;
use crate::extract::{BillScope, Keyed, OptionalJson, Query, WalletScope};
use crate::openapi::{AppPath, UserPath};
use crate::problem::{EnsureWalletProblems, Problem};
use crate::wire::Created;

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
#[utoipa::path(
    post, path = "/api/wallets/{app_id}/{user_id}/ensure", tag = "wallets",
    operation_id = "ensure_wallet", params(AppPath, UserPath), request_body = Option<EnsureWalletRequest>,
    security(("bearer_token" = ["bill"])),
    responses(
        (status = 201, description = "The new wallet", body = Created<WalletResponse>),
        (status = 200, description = "The wallet that exists", body = Created<WalletResponse>),
        EnsureWalletProblems,
    ),
)]
pub(crate) async fn ensure_wallet(
    State(store): State<Arc<dyn Store>>,
    BillScope(WalletScope { scope, user_id }): BillScope,
    Query(()): Query<()>,
    OptionalJson(request): OptionalJson<EnsureWalletRequest>,
) -> Result<Created<WalletResponse>, Problem> {
    let wallet = store.ensure_wallet(&scope, &user_id, request.initial_balance).await?;
    Ok(wallet.into())
}
