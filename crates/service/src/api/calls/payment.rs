use persistence::Payment;
use serde::Serialize;
use utoipa::ToSchema;

/// What came of paying for calls with the wallet of the chat's user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Payment)]
pub(crate) struct PaymentFields {
    /// Whether the wallet held enough; otherwise nothing was taken, and the chat is paused.
    #[schema(example = true)]
    is_paid: bool,
    /// The tokens that the calls took.
    #[schema(example = 16)]
    amount: i64,
    /// What the wallet holds now.
    #[schema(example = 984)]
    balance: i64,
    /// The entry of the wallet that says so; null where nothing was taken.
    #[schema(example = "recording_0198d4b2")]
    entry_id: Option<String>,
}

impl PaymentFields {
    /// Returns nothing where there was nothing to pay for.
    pub(crate) fn from_payment(payment: Payment) -> Option<Self> {
        match payment {
            Payment::None => None,
            Payment::Paid(entry) => Some(Self {
                is_paid: true,
                amount: entry.amount.saturating_neg(),
                balance: entry.balance,
                entry_id: Some(entry.entry_id.into()),
            }),
            Payment::Unpaid { balance, amount } => {
                Some(Self { is_paid: false, amount, balance, entry_id: None })
            }
        }
    }
}
