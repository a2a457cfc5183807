use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use super::{CreditRequest, changed};
use crate::api::created::Created;
use crate::extract::needs::Bill;
use crate::extract::{Json, Query, WalletScope};
use crate::problem::Problem;
use crate::wire::ChangeResponse;

/// Credits tokens to a wallet.
///
/// Idempotent: a repeated `entry_id` with the same amount returns the first response; with another amount it
/// is `entry-conflict`.
#[operation(
    answers = "The credit",
    repeated = "The credit, which an earlier request has made",
    problems = [WALLET_NOT_FOUND, ENTRY_CONFLICT, BALANCE_TOO_LARGE],
)]
pub(crate) async fn credit_wallet(
    State(store): State<Arc<dyn Store>>,
    WalletScope { scope, user_id, .. }: WalletScope<Bill>,
    Query(()): Query<()>,
    Json(request): Json<CreditRequest>,
) -> Result<Created<ChangeResponse>, Problem> {
    let entry = store.credit(&scope, &user_id, request.try_into()?).await?;
    Ok(changed(user_id, entry))
}
