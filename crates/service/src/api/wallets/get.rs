use std::sync::Arc;

use axum::extract::State;
use persistence::{Store, StoreError};

use super::WalletResponse;
use crate::extract::{Json, Query, WalletScope};
use crate::openapi::{AppPath, UserPath};
use crate::problem::{Problem, WalletProblems};

/// Returns a wallet.
#[utoipa::path(
    get, path = "/api/wallets/{app_id}/{user_id}", tag = "wallets", operation_id = "get_wallet",
    params(AppPath, UserPath),
    security(("bearer_token" = ["read"])),
    responses((status = 200, description = "The wallet", body = WalletResponse), WalletProblems),
)]
pub(crate) async fn get_wallet(
    State(store): State<Arc<dyn Store>>,
    WalletScope { scope, user_id }: WalletScope,
    Query(()): Query<()>,
) -> Result<Json<WalletResponse>, Problem> {
    let wallet = store.get_wallet(&scope, &user_id).await?;
    let wallet = wallet.ok_or(StoreError::WalletNotFound(user_id))?;
    Ok(Json(wallet.into()))
}
