use async_trait::async_trait;
use records::{AppId, NewWalletEntry, Scope, UserId, Wallet, WalletEntry};

use crate::StoreError;

/// Keeps wallets: a balance of whole tokens for a user of an app, and every change of it.
///
/// The balance is the sum of the entries, always, and never negative. A credit or a debit is safe to
/// repeat: its `entry_id`, given again with the same amount and kind, is answered as the first time,
/// however long ago that was; with another amount or kind it is
/// [`EntryConflict`](StoreError::EntryConflict). The reason may differ; the first one is kept. What
/// was refused left nothing behind, and its id may be used again.
///
/// The wallet of another user does not exist for a caller who is a user:
/// [`WalletNotFound`](StoreError::WalletNotFound).
#[async_trait]
pub trait Wallets: Send + Sync {
    /// Returns the wallet, and creates it with `initial_balance` where there is none.
    ///
    /// Of callers that race exactly one fills it. An initial balance above 0 is its first entry.
    async fn ensure_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
        initial_balance: i64,
    ) -> Result<Wallet, StoreError>;

    /// Returns the wallet, or `None` where there is none.
    async fn get_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
    ) -> Result<Option<Wallet>, StoreError>;

    /// Adds tokens.
    ///
    /// To no wallet it is [`WalletNotFound`](StoreError::WalletNotFound), beyond
    /// [`Wallet::MAX_BALANCE`] [`BalanceTooLarge`](StoreError::BalanceTooLarge).
    async fn credit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<WalletEntry, StoreError>;

    /// Takes tokens, all of the amount or none.
    ///
    /// From a wallet that holds fewer, or where there is none, it is
    /// [`InsufficientTokens`](StoreError::InsufficientTokens).
    async fn debit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<WalletEntry, StoreError>;

    /// Takes tokens if there are enough; `None` says that there are not, and that nothing changed.
    async fn try_debit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<Option<WalletEntry>, StoreError> {
        match self.debit(scope, user_id, entry).await {
            Ok(entry) => Ok(Some(entry)),
            Err(StoreError::InsufficientTokens { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists the entries of a wallet, newest first: those below the sequence `before`, or all.
    ///
    /// `limit` must be at least 1. Entries never change, so pages do not overlap and skip nothing.
    async fn list_wallet_entries(
        &self,
        scope: &Scope,
        user_id: &UserId,
        limit: usize,
        before: Option<u64>,
    ) -> Result<EntryPage, StoreError>;

    /// Lists the wallets of an app after that of a user, in the order of their users' ids.
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
    /// For operators: it tells that an app has wallets, and nothing else.
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
    /// Below which sequence the next page begins, when there is one.
    pub next: Option<u64>,
}

impl EntryPage {
    /// Makes a page of the first `limit` of the entries given.
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
    /// After whose wallet the next page begins, when there is one.
    pub next: Option<UserId>,
}

impl WalletPage {
    /// Makes a page of the first `limit` of the wallets given.
    pub(crate) fn cut(mut wallets: Vec<Wallet>, limit: usize) -> Self {
        let last = super::cut(&mut wallets, limit);
        let next = last.map(|wallet| wallet.user_id.clone());
        Self { wallets, next }
    }
}
