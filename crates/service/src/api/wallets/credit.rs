use std::sync::Arc;

use axum::extract::State;
use persistence::Store;

use super::{ChangeResponse, CreditRequest};
use crate::extract::{BillScope, Json, Query, WalletScope};
use crate::openapi::{AppPath, UserPath};
use crate::problem::{CreditProblems, Problem};
use crate::wire::Created;

/// Credits tokens to a wallet.
///
/// Idempotent: a repeated `entry_id` with the same amount returns the first response; with another amount it
/// is `entry-conflict`.
#[utoipa::path(
    post, path = "/api/wallets/{app_id}/{user_id}/credit", tag = "wallets",
    operation_id = "credit_wallet", params(AppPath, UserPath), request_body = CreditRequest,
    security(("bearer_token" = ["bill"])),
    responses(
        (status = 201, description = "The credit", body = Created<ChangeResponse>),
        (status = 200, description = "The credit, which an earlier request has made", body = Created<ChangeResponse>),
        CreditProblems,
    ),
)]
pub(crate) async fn credit_wallet(
    State(store): State<Arc<dyn Store>>,
    BillScope(WalletScope { scope, user_id }): BillScope,
    Query(()): Query<()>,
    Json(request): Json<CreditRequest>,
) -> Result<Created<ChangeResponse>, Problem> {
    let entry = store.credit(&scope, &user_id, request.try_into()?).await?;
    Ok(ChangeResponse::created(user_id, entry))
}
