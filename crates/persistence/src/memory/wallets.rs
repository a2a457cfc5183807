use async_trait::async_trait;
use records::{AppId, EntryId, EntryKind, NewWalletEntry, Scope, UserId, Wallet, WalletEntry};

use super::{MemoryStore, held};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::billing::{Bill, refused};
use crate::rules::ledger::{Change, check_open, initial_entry, new_wallet};
use crate::store::{EntryPage, Payment, WalletPage, Wallets, Written};

/// A wallet and its entries, oldest first.
#[derive(Debug)]
pub(super) struct Ledger {
    wallet: Wallet,
    entries: Vec<WalletEntry>,
}

impl Ledger {
    /// Returns the ledger under another id and without reasons, and how many entries it has.
    pub(super) fn anonymised(mut self, alias: UserId) -> (Self, u64) {
        self.wallet.user_id = alias;
        self.entries.iter_mut().for_each(|entry| entry.reason = None);
        let count = self.entries.len() as u64;
        (self, count)
    }
}

#[async_trait]
impl Wallets for MemoryStore {
    async fn ensure_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
        initial_balance: i64,
    ) -> Result<Written<Wallet>, StoreError> {
        self.observe(Call::EnsureWallet, || {
            Wallet::check_initial_balance(initial_balance)?;
            check_open(scope, user_id)?;
            let wallet = new_wallet(scope, user_id, initial_balance, self.clock.now());
            let entry = initial_entry(&wallet, EntryId::mint(&*self.ids));
            let mut ledgers = held(&self.ledgers);
            if let Some(found) = ledgers.get(&key(scope, user_id)) {
                return Ok(Written::found(found.wallet.clone(), false));
            }
            let entries = entry.into_iter().collect();
            ledgers.insert(key(scope, user_id), Ledger { wallet: wallet.clone(), entries });
            Ok(Written::stored(wallet))
        })
        .await
    }

    async fn get_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
    ) -> Result<Option<Wallet>, StoreError> {
        self.observe(Call::GetWallet, || {
            let ledgers = held(&self.ledgers);
            let ledger = ledgers.get(&key(scope, user_id));
            let ledger = ledger.filter(|_| scope.caller.may_act_for(user_id));
            Ok(ledger.map(|ledger| ledger.wallet.clone()))
        })
        .await
    }

    async fn credit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<Written<WalletEntry>, StoreError> {
        self.observe(Call::Credit, || self.change(scope, user_id, &entry, EntryKind::Credit)).await
    }

    async fn debit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<Written<WalletEntry>, StoreError> {
        self.observe(Call::Debit, || self.change(scope, user_id, &entry, EntryKind::Debit)).await
    }

    async fn list_wallet_entries(
        &self,
        scope: &Scope,
        user_id: &UserId,
        limit: usize,
        before: Option<u64>,
    ) -> Result<EntryPage, StoreError> {
        self.observe(Call::ListWalletEntries, || {
            check_open(scope, user_id)?;
            let ledgers = held(&self.ledgers);
            let ledger = ledgers.get(&key(scope, user_id));
            let ledger = ledger.ok_or_else(|| StoreError::WalletNotFound(user_id.clone()))?;
            let below = |entry: &&WalletEntry| before.is_none_or(|before| entry.sequence < before);
            let newest_first = ledger.entries.iter().rev().filter(below).cloned();
            Ok(EntryPage::cut(newest_first.take(limit.saturating_add(1)).collect(), limit))
        })
        .await
    }

    async fn list_wallets(
        &self,
        scope: &Scope,
        limit: usize,
        after: Option<&UserId>,
    ) -> Result<WalletPage, StoreError> {
        self.observe(Call::ListWallets, || {
            let ledgers = held(&self.ledgers);
            let wallets = ledgers.values().map(|ledger| &ledger.wallet);
            let listed = wallets.filter(|wallet| {
                wallet.app_id == scope.app_id
                    && scope.caller.may_act_for(&wallet.user_id)
                    && after.is_none_or(|after| wallet.user_id > *after)
            });
            let listed = listed.take(limit.saturating_add(1)).cloned().collect();
            Ok(WalletPage::cut(listed, limit))
        })
        .await
    }

    async fn next_app_with_wallets(
        &self,
        after: Option<&AppId>,
    ) -> Result<Option<AppId>, StoreError> {
        self.observe(Call::NextAppWithWallets, || {
            let ledgers = held(&self.ledgers);
            let mut apps = ledgers.keys().map(|(app_id, _)| app_id);
            Ok(apps.find(|app_id| after.is_none_or(|after| *app_id > after)).cloned())
        })
        .await
    }
}

impl MemoryStore {
    /// Debits a bill from its user's wallet, regardless of the caller.
    pub(super) fn pay(&self, scope: &Scope, bill: &Bill) -> Result<Payment, StoreError> {
        let scope = Scope::service(scope.app_id.clone());
        match self.change(&scope, &bill.user_id, &bill.entry, EntryKind::Debit) {
            Ok(entry) => Ok(Payment::Paid(entry.record)),
            Err(refusal) => refused(bill, refusal),
        }
    }

    fn change(
        &self,
        scope: &Scope,
        user_id: &UserId,
        new: &NewWalletEntry,
        kind: EntryKind,
    ) -> Result<Written<WalletEntry>, StoreError> {
        new.check()?;
        check_open(scope, user_id)?;
        let change = Change { user_id, new, kind, now: self.clock.now() };
        let mut ledgers = held(&self.ledgers);
        let ledger =
            ledgers.get_mut(&key(scope, user_id)).ok_or_else(|| change.without_wallet())?;
        let known = ledger.entries.iter().find(|entry| entry.entry_id == new.entry_id);
        if let Some(known) = known {
            return Ok(Written::found(change.repeated(known.clone())?, false));
        }
        if let Some(refusal) = change.refusal(ledger.wallet.balance) {
            return Err(refusal);
        }
        let wallet = &mut ledger.wallet;
        wallet.balance += change.amount();
        let entry = WalletEntry {
            entry_id: new.entry_id.clone(),
            sequence: wallet.entry_count,
            kind,
            amount: change.amount(),
            balance: wallet.balance,
            reason: new.reason.clone(),
            created_at: change.now,
        };
        wallet.entry_count += 1;
        wallet.last_updated_at = change.now;
        ledger.entries.push(entry.clone());
        Ok(Written::stored(entry))
    }
}

fn key(scope: &Scope, user_id: &UserId) -> (AppId, UserId) {
    (scope.app_id.clone(), user_id.clone())
}
