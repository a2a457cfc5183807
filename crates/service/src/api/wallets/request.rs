use records::{EntryId, NewWalletEntry};
use serde::Deserialize;
use utoipa::ToSchema;

/// Tokens to credit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"entry_id": "top_up_1", "amount": 1000, "reason": "monthly top-up"}))]
pub(crate) struct CreditRequest {
    /// The idempotency key of the credit within the wallet.
    #[schema(value_type = String)]
    entry_id: EntryId,
    /// Whole tokens.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_i64)]
    amount: i64,
    /// At most 256 characters.
    reason: Option<String>,
}

impl From<CreditRequest> for NewWalletEntry {
    fn from(request: CreditRequest) -> Self {
        Self { entry_id: request.entry_id, amount: request.amount, reason: request.reason }
    }
}
