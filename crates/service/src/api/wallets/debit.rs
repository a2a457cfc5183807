use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::{EntryId, NewWalletEntry};
use serde::Deserialize;
use utoipa::ToSchema;

use super::ChangeResponse;
use crate::extract::{Json, Query, WalletScope};
use crate::openapi::{AppPath, UserPath};
use crate::problem::{DebitProblems, Problem};

/// A debit to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"entry_id": "call_42", "amount": 300, "reason": "gpt-4o call"}))]
pub(crate) struct DebitRequest {
    /// Names the change within the wallet; repeat it to repeat the call.
    #[schema(value_type = String)]
    entry_id: EntryId,
    /// Whole tokens.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_i64)]
    amount: i64,
    /// At most 256 characters.
    reason: Option<String>,
    /// Whether too little in the wallet is a problem, or answered with a null.
    #[serde(default = "strictly")]
    #[schema(default = true)]
    strict: bool,
}

fn strictly() -> bool {
    true
}

/// Takes tokens from a wallet: all of the amount or none.
///
/// The same `entry_id` again, with the same amount, is answered as the first time.
#[utoipa::path(
    post, path = "/api/wallets/{app_id}/{user_id}/debit", tag = "wallets",
    operation_id = "debit_wallet", params(AppPath, UserPath), request_body = DebitRequest,
    responses(
        (status = 200, description = "The debit, or null", body = ChangeResponse),
        DebitProblems,
    ),
)]
pub(crate) async fn debit_wallet(
    State(store): State<Arc<dyn Store>>,
    WalletScope { scope, user_id }: WalletScope,
    Query(()): Query<()>,
    Json(request): Json<DebitRequest>,
) -> Result<Json<ChangeResponse>, Problem> {
    let DebitRequest { entry_id, amount, reason, strict } = request;
    let new = NewWalletEntry { entry_id, amount, reason };
    let entry = if strict {
        Some(store.debit(&scope, &user_id, new).await?)
    } else {
        store.try_debit(&scope, &user_id, new).await?
    };
    Ok(Json(ChangeResponse::new(user_id, entry)))
}
