use records::{EntryId, NewWalletEntry};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::extract::{IdempotencyKey, Keyed, required_id};
use crate::openapi::values;
use crate::problem::Problem;
/// Tokens to credit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"entry_id": "top_up_1", "amount": 1000, "reason": "monthly top-up"}))]
pub(crate) struct CreditRequest {
    /// The idempotency key of the credit within the wallet. Required, here or as the header `Idempotency-Key`.
    #[schema(value_type = Option<values::Name>)]
    entry_id: Option<EntryId>,
    /// Whole tokens.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_i64)]
    amount: i64,
    /// At most 256 characters.
    reason: Option<String>,
}

impl Keyed for CreditRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("entry_id", &mut self.entry_id)
    }
}

impl TryFrom<CreditRequest> for NewWalletEntry {
    type Error = Problem;

    fn try_from(request: CreditRequest) -> Result<Self, Problem> {
        let CreditRequest { entry_id, amount, reason } = request;
        Ok(Self { entry_id: required_id("entry_id", entry_id)?, amount, reason })
    }
}
