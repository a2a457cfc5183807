//! Decisions about the change of a wallet before it is written, shared by both stores.

use chrono::{DateTime, Utc};
use records::{EntryId, EntryKind, NewWalletEntry, Scope, UserId, Wallet, WalletEntry};

use crate::StoreError;

/// A credit or debit to apply to a wallet.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    pub(crate) user_id: &'a UserId,
    pub(crate) new: &'a NewWalletEntry,
    pub(crate) kind: EntryKind,
    pub(crate) now: DateTime<Utc>,
}

impl Change<'_> {
    /// Returns the change of the balance: negative for a debit.
    pub(crate) fn amount(&self) -> i64 {
        self.kind.signed(self.new.amount)
    }

    /// Returns the first answer for a repeat, or a conflict if the repeat is another change with
    /// the same id.
    pub(crate) fn repeated(&self, known: WalletEntry) -> Result<WalletEntry, StoreError> {
        if (known.kind, known.amount) == (self.kind, self.amount()) {
            return Ok(known);
        }
        Err(StoreError::EntryConflict {
            user_id: self.user_id.clone(),
            entry_id: known.entry_id,
            kind: known.kind.as_str(),
            amount: known.amount.abs(),
        })
    }

    /// Returns the reason why a wallet with this balance refuses the change, if it does.
    pub(crate) fn refusal(&self, balance: i64) -> Option<StoreError> {
        let (user_id, amount) = (self.user_id.clone(), self.new.amount);
        let after = balance.saturating_add(self.amount());
        if after < 0 {
            return Some(StoreError::InsufficientTokens { user_id, balance, amount });
        }
        let limit = Wallet::MAX_BALANCE;
        let is_too_large = self.kind == EntryKind::Credit && after > limit;
        is_too_large.then_some(StoreError::BalanceTooLarge { user_id, balance, amount, limit })
    }

    /// Returns the error of a change without a wallet.
    pub(crate) fn without_wallet(&self) -> StoreError {
        match self.kind {
            EntryKind::Debit => StoreError::InsufficientTokens {
                user_id: self.user_id.clone(),
                balance: 0,
                amount: self.new.amount,
            },
            _ => StoreError::WalletNotFound(self.user_id.clone()),
        }
    }
}

/// Refuses a caller for whom the user's wallet does not exist.
pub(crate) fn check_open(scope: &Scope, user_id: &UserId) -> Result<(), StoreError> {
    if scope.caller.may_act_for(user_id) {
        return Ok(());
    }
    Err(StoreError::WalletNotFound(user_id.clone()))
}

/// Returns a new wallet.
pub(crate) fn new_wallet(
    scope: &Scope,
    user_id: &UserId,
    initial_balance: i64,
    now: DateTime<Utc>,
) -> Wallet {
    Wallet {
        app_id: scope.app_id.clone(),
        user_id: user_id.clone(),
        balance: initial_balance,
        entry_count: u64::from(initial_balance > 0),
        created_at: now,
        last_updated_at: now,
    }
}

/// Returns the entry of a new wallet's initial balance, if the balance is above 0.
pub(crate) fn initial_entry(wallet: &Wallet, entry_id: EntryId) -> Option<WalletEntry> {
    (wallet.balance > 0).then_some(WalletEntry {
        entry_id,
        sequence: 0,
        kind: EntryKind::Initial,
        amount: wallet.balance,
        balance: wallet.balance,
        reason: None,
        created_at: wallet.created_at,
    })
}
