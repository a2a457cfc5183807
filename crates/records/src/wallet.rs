use chrono::{DateTime, Utc};

use crate::{AppId, EntryId, Invalid, UserId};

/// The tokens of a user within an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wallet {
    /// The app it belongs to.
    pub app_id: AppId,
    /// The user it belongs to.
    pub user_id: UserId,
    /// Whole tokens, 0 to [`Wallet::MAX_BALANCE`]: the sum of its entries.
    pub balance: i64,
    /// How many entries it has, and so the sequence of the next one.
    pub entry_count: u64,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub last_updated_at: DateTime<Utc>,
}

impl Wallet {
    /// Most tokens in a wallet: what every JSON parser still reads exactly.
    pub const MAX_BALANCE: i64 = 1_000_000_000_000_000;
    /// Most tokens in one entry.
    pub const MAX_AMOUNT: i64 = 1_000_000_000_000;

    /// Checks the balance that a wallet is to be created with: 0 to [`Wallet::MAX_AMOUNT`].
    pub fn check_initial_balance(tokens: i64) -> Result<(), Invalid> {
        if (0..=Self::MAX_AMOUNT).contains(&tokens) {
            return Ok(());
        }
        let limit = format!("must be 0 to {}", Self::MAX_AMOUNT);
        Err(Invalid::value("/initial_balance", limit))
    }
}

/// A change of a wallet, as it is kept for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletEntry {
    /// Names it within its wallet.
    pub entry_id: EntryId,
    /// Its position: 0 for the first entry of the wallet, dense.
    pub sequence: u64,
    /// What it did.
    pub kind: EntryKind,
    /// Whole tokens: negative for a debit, positive for the rest.
    pub amount: i64,
    /// The balance after it.
    pub balance: i64,
    /// Why, in the caller's words.
    pub reason: Option<String>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// What an entry does to its wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Fills a wallet that is being created.
    Initial,
    /// Adds tokens.
    Credit,
    /// Takes tokens.
    Debit,
}

impl EntryKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Credit, Self::Debit];

    /// Returns the word for it, as it stands on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Credit => "credit",
            Self::Debit => "debit",
        }
    }

    /// Gives an amount the sign it has in an entry of this kind.
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
    /// Names it within its wallet; whoever repeats it means the same entry.
    pub entry_id: EntryId,
    /// Whole tokens, 1 to [`Wallet::MAX_AMOUNT`].
    pub amount: i64,
    /// Why, at most 256 characters.
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
