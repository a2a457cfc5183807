use records::{UserId, Wallet, WalletEntry};
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;
use super::values;

/// A wallet.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Wallet)]
pub(crate) struct WalletResponse {
    #[schema(example = "acme_corp")]
    app_id: String,
    #[schema(example = "user_alice_456")]
    user_id: String,
    /// Whole tokens: the sum of all entries.
    #[schema(example = 1000)]
    balance: i64,
    /// The number of entries.
    #[schema(example = 1)]
    entry_count: u64,
    created_at: Time,
    last_updated_at: Time,
}

impl From<Wallet> for WalletResponse {
    fn from(wallet: Wallet) -> Self {
        Self {
            app_id: wallet.app_id.into(),
            user_id: wallet.user_id.into(),
            balance: wallet.balance,
            entry_count: wallet.entry_count,
            created_at: wallet.created_at.into(),
            last_updated_at: wallet.last_updated_at.into(),
        }
    }
}

/// An entry of a wallet: one change of its balance.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WalletEntry)]
pub(crate) struct EntryResponse {
    #[schema(example = "top_up_1")]
    entry_id: String,
    /// The position in the wallet, from 0.
    #[schema(example = 1)]
    sequence: u64,
    /// `initial`, `credit` or `debit`.
    #[schema(value_type = values::EntryKind)]
    kind: &'static str,
    /// Whole tokens, negative for a debit.
    #[schema(example = 1000)]
    amount: i64,
    /// The balance afterwards.
    #[schema(example = 1000)]
    balance: i64,
    reason: Option<String>,
    created_at: Time,
}

impl From<WalletEntry> for EntryResponse {
    fn from(entry: WalletEntry) -> Self {
        Self {
            entry_id: entry.entry_id.into(),
            sequence: entry.sequence,
            kind: entry.kind.as_str(),
            amount: entry.amount,
            balance: entry.balance,
            reason: entry.reason,
            created_at: entry.created_at.into(),
        }
    }
}

/// The result of a credit or a debit.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangeResponse {
    #[schema(example = "user_alice_456")]
    user_id: String,
    /// Null if a debit that is not strict exceeded the balance; nothing was changed then.
    entry: Option<EntryResponse>,
}

impl ChangeResponse {
    pub(crate) fn new(user_id: UserId, entry: Option<WalletEntry>) -> Self {
        Self { user_id: user_id.into(), entry: entry.map(Into::into) }
    }
}
