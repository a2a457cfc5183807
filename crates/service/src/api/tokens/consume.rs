use axum::extract::State;
use operation::operation;
use records::{EntryId, NewWalletEntry, Uuid7Ids};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract::needs::Bill;
use crate::extract::{IdempotencyKey, Json, Keyed, Query, UnscopedUser};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;

/// Tokens to debit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"app_id": "acme_corp", "amount": 300, "entry_id": "call_42"}))]
pub(crate) struct ConsumeRequest {
    /// The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    #[schema(value_type = values::AppId)]
    app_id: Option<String>,
    /// Whole tokens; 0 or less debits nothing.
    #[schema(maximum = 1_000_000_000_000_i64)]
    amount: i64,
    /// At most 256 characters; `manual_consume` by default.
    reason: Option<String>,
    /// The idempotency key of the debit. Without it each request is a new debit.
    #[schema(value_type = Option<values::Name>)]
    entry_id: Option<EntryId>,
}

impl Keyed for ConsumeRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("entry_id", &mut self.entry_id)
    }
}

/// The balance afterwards.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConsumeResponse {
    #[schema(example = true)]
    success: bool,
    /// Whole tokens.
    #[schema(example = 700)]
    remaining: i64,
    /// The id of the wallet entry; null if nothing was debited.
    #[schema(example = "call_42")]
    entry_id: Option<String>,
}

/// Debits tokens from a user's wallet: the whole amount or nothing.
///
/// Idempotent: a repeated `entry_id` with the same amount returns the first response; with another amount it
/// is `entry-conflict`.
#[operation(answers = "The balance afterwards", problems = [INSUFFICIENT_TOKENS, ENTRY_CONFLICT])]
pub(crate) async fn consume_tokens(
    State(state): State<AppState>,
    user: UnscopedUser<Bill>,
    Query(()): Query<()>,
    Json(request): Json<ConsumeRequest>,
) -> Result<Json<ConsumeResponse>, Problem> {
    let wallet = user.wallet_in(request.app_id.as_deref(), &state).await?;
    if request.amount <= 0 {
        let found = state.store.get_wallet(&wallet.scope, &wallet.user_id).await?;
        let remaining = found.map_or(0, |found| found.balance);
        return Ok(Json(ConsumeResponse { success: true, remaining, entry_id: None }));
    }
    let new = NewWalletEntry {
        entry_id: request.entry_id.unwrap_or_else(|| EntryId::mint(&Uuid7Ids)),
        amount: request.amount,
        reason: Some(request.reason.unwrap_or_else(|| "manual_consume".to_owned())),
    };
    let entry = state.store.debit(&wallet.scope, &wallet.user_id, new).await?;
    let (remaining, entry_id) = (entry.balance, Some(entry.record.entry_id.into()));
    Ok(Json(ConsumeResponse { success: true, remaining, entry_id }))
}
