use persistence::Payment;
use serde::Serialize;
use utoipa::ToSchema;

/// The payment for calls from the wallet of the chat's user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Payment)]
pub(crate) struct PaymentFields {
    /// Whether the balance was sufficient. If not, nothing was debited and the chat is paused.
    #[schema(example = true)]
    is_paid: bool,
    /// The tokens that the calls used.
    #[schema(example = 16)]
    amount: i64,
    /// The balance of the wallet afterwards.
    #[schema(example = 984)]
    balance: i64,
    /// The id of the wallet entry; null if nothing was debited.
    #[schema(example = "recording_0198d4b2")]
    entry_id: Option<String>,
}

impl PaymentFields {
    /// Returns `None` if nothing had to be paid.
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
