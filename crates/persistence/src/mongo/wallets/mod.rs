//! Wallets: one update of one document decides.
//!
//! A wallet document holds the balance and its newest entries, the *tail*. Each entry below
//! `first_sequence` is a separate document, a *line*. A change is one update of the wallet,
//! conditional on everything that its answer depends on. Lines are written after it, and only then
//! the tail is cut. So an entry is always in at least one of the two, and nothing is locked for
//! longer than one update (decision 0013).

mod archive;
mod bill;
mod change;
mod list;
mod proof;

pub use proof::WalletVerification;

use async_trait::async_trait;
use records::{AppId, EntryId, EntryKind, NewWalletEntry, Scope, UserId, Wallet, WalletEntry};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{StoredWallet, WalletDocument, encode, stored_wallet, wallet_filter};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::inserts::insert_or_get;
use crate::rules::ledger::{check_open, initial_entry, new_wallet};
use crate::store::{EntryPage, WalletPage, Wallets, Written};

#[async_trait]
impl Wallets for MongoStore {
    async fn ensure_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
        initial_balance: i64,
    ) -> Result<Written<Wallet>, StoreError> {
        self.observe(Call::EnsureWallet, None, async {
            Wallet::check_initial_balance(initial_balance)?;
            check_open(scope, user_id)?;
            let wallet = new_wallet(scope, user_id, initial_balance, self.inner.clock.now());
            let entry = initial_entry(&wallet, EntryId::mint(&*self.inner.ids));
            let document = encode(&WalletDocument::new(&wallet, entry.as_ref()))?;
            let scope = scope.clone();
            self.write(|call| async move {
                call.attempt(|attempt| {
                    let (call, scope, wallet, document) = (&call, &scope, &wallet, &document);
                    async move {
                        call.read_format_once().await?;
                        let find = || call.stored_wallet(scope, &wallet.user_id);
                        let found = insert_or_get(&call.inner.wallets, document, find).await?;
                        Ok(match found {
                            None => Written::stored(wallet.clone()),
                            Some(found) => Written::found(found.wallet, attempt.may_have_applied()),
                        })
                    }
                })
                .await
            })
            .await
        })
        .await
    }

    async fn get_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
    ) -> Result<Option<Wallet>, StoreError> {
        self.observe(Call::GetWallet, None, async {
            if !scope.caller.may_act_for(user_id) {
                return Ok(None);
            }
            let stored = self.read(|| async { self.stored_wallet(scope, user_id).await }).await?;
            Ok(stored.map(|stored| stored.wallet))
        })
        .await
    }

    async fn credit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<Written<WalletEntry>, StoreError> {
        self.observe(
            Call::Credit,
            None,
            self.change_wallet(scope, user_id, entry, EntryKind::Credit),
        )
        .await
    }

    async fn debit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<Written<WalletEntry>, StoreError> {
        self.observe(Call::Debit, None, self.change_wallet(scope, user_id, entry, EntryKind::Debit))
            .await
    }

    async fn list_wallet_entries(
        &self,
        scope: &Scope,
        user_id: &UserId,
        limit: usize,
        before: Option<u64>,
    ) -> Result<EntryPage, StoreError> {
        self.observe(Call::ListWalletEntries, None, async {
            check_open(scope, user_id)?;
            self.read(|| async { self.entries_below(scope, user_id, limit, before).await }).await
        })
        .await
    }

    async fn list_wallets(
        &self,
        scope: &Scope,
        limit: usize,
        after: Option<&UserId>,
    ) -> Result<WalletPage, StoreError> {
        self.observe(
            Call::ListWallets,
            None,
            self.read(|| async { self.wallets_after(scope, limit, after).await }),
        )
        .await
    }

    async fn next_app_with_wallets(
        &self,
        after: Option<&AppId>,
    ) -> Result<Option<AppId>, StoreError> {
        self.observe(
            Call::NextAppWithWallets,
            None,
            self.read(|| async { self.app_with_wallets_after(after).await }),
        )
        .await
    }
}

impl MongoStore {
    /// Reads a wallet with its tail, with majority concern.
    pub(crate) async fn stored_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
    ) -> Result<Option<StoredWallet>, Failure> {
        let raw = self.inner.wallets.find_one(wallet_filter(scope, user_id)).await?;
        Ok(raw.map(|raw| stored_wallet(&raw)).transpose()?)
    }
}
