use chrono::{DateTime, Utc};

use crate::{AppId, EntryId, Invalid, UserId};

/// A wallet: the tokens of a user in an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wallet {
    /// The app of the wallet.
    pub app_id: AppId,
    /// The user who owns the wallet.
    pub user_id: UserId,
    /// The balance in whole tokens, 0 to [`Wallet::MAX_BALANCE`]: the sum of all entries.
    pub balance: i64,
    /// The number of entries, which is the sequence of the next entry.
    pub entry_count: u64,
    /// When the wallet was created.
    pub created_at: DateTime<Utc>,
    /// When the wallet last changed.
    pub last_updated_at: DateTime<Utc>,
}

impl Wallet {
    /// The largest balance: every JSON parser still reads it exactly.
    pub const MAX_BALANCE: i64 = 1_000_000_000_000_000;
    /// The largest amount of one entry.
    pub const MAX_AMOUNT: i64 = 1_000_000_000_000;

    /// Checks the initial balance of a wallet: 0 to [`Wallet::MAX_AMOUNT`].
    pub fn check_initial_balance(tokens: i64) -> Result<(), Invalid> {
        if (0..=Self::MAX_AMOUNT).contains(&tokens) {
            return Ok(());
        }
        let limit = format!("must be 0 to {}", Self::MAX_AMOUNT);
        Err(Invalid::value("/initial_balance", limit))
    }
}

/// A change of a wallet. Entries are never changed or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletEntry {
    /// The id of the entry, unique within its wallet.
    pub entry_id: EntryId,
    /// The position of the entry in the wallet: from 0, without gaps.
    pub sequence: u64,
    /// The kind of change.
    pub kind: EntryKind,
    /// The amount in whole tokens: negative for a debit, positive otherwise.
    pub amount: i64,
    /// The balance after the entry.
    pub balance: i64,
    /// The reason that the caller gave.
    pub reason: Option<String>,
    /// When the entry was made.
    pub created_at: DateTime<Utc>,
}

/// The kind of change that an entry makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Sets the initial balance of a new wallet.
    Initial,
    /// Adds tokens.
    Credit,
    /// Removes tokens.
    Debit,
}

impl EntryKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Credit, Self::Debit];

    /// Returns the name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Credit => "credit",
            Self::Debit => "debit",
        }
    }

    /// Returns an amount with its sign in an entry of this kind.
    pub fn signed(self, amount: i64) -> i64 {
        match self {
            Self::Initial | Self::Credit => amount,
            Self::Debit => -amount,
        }
    }
}

/// A credit or a debit to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWalletEntry {
    /// The id of the entry, unique within its wallet, which is its idempotency key.
    pub entry_id: EntryId,
    /// The amount in whole tokens, 1 to [`Wallet::MAX_AMOUNT`].
    pub amount: i64,
    /// The reason, at most 256 characters.
    pub reason: Option<String>,
}

impl NewWalletEntry {
    /// Checks every field.
    pub fn check(&self) -> Result<(), Invalid> {
        const MAX_CHARS: usize = 256;
        if !(1..=Wallet::MAX_AMOUNT).contains(&self.amount) {
            let limit = format!("must be 1 to {}", Wallet::MAX_AMOUNT);
            return Err(Invalid::value("/amount", limit));
        }
        if self.reason.as_deref().is_some_and(|reason| reason.chars().count() > MAX_CHARS) {
            let limit = format!("must be at most {MAX_CHARS} characters");
            return Err(Invalid::value("/reason", limit));
        }
        Ok(())
    }
}
