use async_trait::async_trait;
use records::{AppId, NewWalletEntry, Scope, UserId, Wallet, WalletEntry};

use super::Written;
use crate::StoreError;

/// Stores wallets: a balance of whole tokens for a user of an app, and every change of it.
///
/// The balance is always the sum of the entries, and never negative. A credit or debit is safe to
/// repeat: a repeated `entry_id` with the same amount and kind gets the first result, however old
/// it is. With another amount or kind it is [`EntryConflict`](StoreError::EntryConflict). The
/// reason may differ; the first one is kept. A refused change stores nothing, and its id may be
/// used again.
///
/// For a caller who is a user, the wallet of another user does not exist:
/// [`WalletNotFound`](StoreError::WalletNotFound).
#[async_trait]
pub trait Wallets: Send + Sync {
    /// Returns the wallet, and creates it with `initial_balance` if there is none.
    ///
    /// If callers race, exactly one credits the initial balance. An initial balance above 0 becomes
    /// the first entry.
    async fn ensure_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
        initial_balance: i64,
    ) -> Result<Written<Wallet>, StoreError>;

    /// Returns the wallet, or `None` if there is none.
    async fn get_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
    ) -> Result<Option<Wallet>, StoreError>;

    /// Adds tokens.
    ///
    /// Without a wallet it is [`WalletNotFound`](StoreError::WalletNotFound); above
    /// [`Wallet::MAX_BALANCE`] it is [`BalanceTooLarge`](StoreError::BalanceTooLarge).
    async fn credit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<Written<WalletEntry>, StoreError>;

    /// Takes tokens, the whole amount or nothing.
    ///
    /// If the wallet holds fewer tokens, or there is no wallet, it is
    /// [`InsufficientTokens`](StoreError::InsufficientTokens).
    async fn debit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<Written<WalletEntry>, StoreError>;

    /// Takes tokens if there are enough; `None` means that there are not, and that nothing changed.
    async fn try_debit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<Option<Written<WalletEntry>>, StoreError> {
        match self.debit(scope, user_id, entry).await {
            Ok(entry) => Ok(Some(entry)),
            Err(StoreError::InsufficientTokens { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists the entries of a wallet, newest first: those below the sequence `before`, or all.
    ///
    /// `limit` must be at least 1. Entries never change, so pages do not overlap and skip no entry.
    async fn list_wallet_entries(
        &self,
        scope: &Scope,
        user_id: &UserId,
        limit: usize,
        before: Option<u64>,
    ) -> Result<EntryPage, StoreError>;

    /// Lists the wallets of an app after `after`, in the order of their user ids.
    ///
    /// `limit` must be at least 1.
    async fn list_wallets(
        &self,
        scope: &Scope,
        limit: usize,
        after: Option<&UserId>,
    ) -> Result<WalletPage, StoreError>;

    /// Returns the first app after `after` that has wallets, registered or not.
    ///
    /// For operators: the result shows only that an app has wallets.
    async fn next_app_with_wallets(
        &self,
        after: Option<&AppId>,
    ) -> Result<Option<AppId>, StoreError>;
}

/// A page of the entries of a wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPage {
    /// The entries, newest first.
    pub entries: Vec<WalletEntry>,
    /// The sequence below which the next page begins, if there is a next page.
    pub next: Option<u64>,
}

impl EntryPage {
    /// Makes a page of the first `limit` entries.
    pub(crate) fn cut(mut entries: Vec<WalletEntry>, limit: usize) -> Self {
        let next = super::cut(&mut entries, limit).map(|entry| entry.sequence);
        Self { entries, next }
    }
}

/// A page of wallets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletPage {
    /// The wallets.
    pub wallets: Vec<Wallet>,
    /// The user after whose wallet the next page begins, if there is a next page.
    pub next: Option<UserId>,
}

impl WalletPage {
    /// Makes a page of the first `limit` wallets.
    pub(crate) fn cut(mut wallets: Vec<Wallet>, limit: usize) -> Self {
        let last = super::cut(&mut wallets, limit);
        let next = last.map(|wallet| wallet.user_id.clone());
        Self { wallets, next }
    }
}
