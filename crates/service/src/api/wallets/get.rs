use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};

use crate::extract::needs::Read;
use crate::extract::{Json, Query, WalletScope};
use crate::problem::Problem;
use crate::wire::WalletResponse;

/// Returns a wallet.
#[operation(answers = "The wallet", problems = [WALLET_NOT_FOUND])]
pub(crate) async fn get_wallet(
    State(store): State<Arc<dyn Store>>,
    WalletScope { scope, user_id, .. }: WalletScope<Read>,
    Query(()): Query<()>,
) -> Result<Json<WalletResponse>, Problem> {
    let wallet = store.get_wallet(&scope, &user_id).await?;
    let wallet = wallet.ok_or(StoreError::WalletNotFound(user_id))?;
    Ok(Json(wallet.into()))
}
