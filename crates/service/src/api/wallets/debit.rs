use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{EntryId, NewWalletEntry};
use serde::Deserialize;
use utoipa::ToSchema;

use super::changed;
use crate::api::created::Created;
use crate::extract::needs::Bill;
use crate::extract::{IdempotencyKey, Json, Keyed, Query, WalletScope, required_id};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::ChangeResponse;

/// Tokens to debit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"entry_id": "call_42", "amount": 300, "reason": "gpt-4o call"}))]
pub(crate) struct DebitRequest {
    /// The idempotency key of the debit within the wallet. Required, here or as the header `Idempotency-Key`.
    #[schema(value_type = Option<values::Name>)]
    entry_id: Option<EntryId>,
    /// Whole tokens.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_i64)]
    amount: i64,
    /// At most 256 characters.
    reason: Option<String>,
    /// Whether a balance that is too low is refused; otherwise `entry` is null then.
    #[serde(default = "strict_by_default")]
    #[schema(default = true)]
    strict: bool,
}

impl Keyed for DebitRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("entry_id", &mut self.entry_id)
    }
}

fn strict_by_default() -> bool {
    true
}

/// Debits tokens from a wallet: the whole amount or nothing.
///
/// Idempotent: a repeated `entry_id` with the same amount returns the first response; with another amount it
/// is `entry-conflict`.
#[operation(
    answers = "The debit",
    repeated = "The debit, which an earlier request has made; or null",
    problems = [INSUFFICIENT_TOKENS, ENTRY_CONFLICT],
)]
pub(crate) async fn debit_wallet(
    State(store): State<Arc<dyn Store>>,
    WalletScope { scope, user_id, .. }: WalletScope<Bill>,
    Query(()): Query<()>,
    Json(request): Json<DebitRequest>,
) -> Result<Created<ChangeResponse>, Problem> {
    let DebitRequest { entry_id, amount, reason, strict } = request;
    let new = NewWalletEntry { entry_id: required_id("entry_id", entry_id)?, amount, reason };
    let entry = if strict {
        Some(store.debit(&scope, &user_id, new).await?)
    } else {
        store.try_debit(&scope, &user_id, new).await?
    };
    Ok(match entry {
        Some(entry) => changed(user_id, entry),
        None => Created::nothing(ChangeResponse::new(user_id, None)),
    })
}
