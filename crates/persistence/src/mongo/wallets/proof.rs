//! Verifies that the balances of wallets equal the sums of their entries.
//!
//! No snapshot is needed: an entry never changes, and the entries below a wallet's entry count
//! stay, in the wallet or as lines. They are read page by page, oldest first.

use bson::{RawDocumentBuf, doc};
use futures::TryStreamExt;
use records::{AppId, Erasure, UserId, Wallet, WalletEntry};
use tokio::time::Instant;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    StoredWallet, counter, line_owner, line_record, stored_wallet, wallet_id, wallets_after,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::stats::MAX_STEP;

/// How many wallets are read at a time, with up to 64 entries each.
const WALLETS: i64 = 200;

/// How many lines are read at a time.
const LINES: i64 = 2_000;

/// The progress and findings of a verification of wallets.
#[derive(Debug)]
pub enum WalletVerification<'a> {
    /// The entries of this wallet follow.
    Wallet(&'a Wallet),
    /// This many entries were read.
    Entries(u64),
    /// The wallet differs from the sum of its entries; a description.
    Difference(&'a Wallet, String),
    /// This many archived entries are of a person without a wallet.
    Orphans(&'a AppId, &'a UserId, u64),
}

/// The sum of the first entries of a wallet.
#[derive(Debug, Default)]
struct Sum {
    count: u64,
    amount: i64,
    /// The error of the balance after the last entry.
    off: i64,
}

impl MongoStore {
    /// Compares the wallets of one app, or of all, with their entries, and then finds archived entries that have no wallet.
    ///
    /// Until an import ends, entries may be there without their wallet. It takes as long as it needs while services continue, and
    /// resumes after a failure where it was.
    pub async fn verify_wallets(
        &self,
        app_id: Option<&AppId>,
        tell: &mut (dyn FnMut(WalletVerification<'_>) + Send),
    ) -> Result<(), StoreError> {
        if let Some(app_id) = app_id {
            self.verify_wallets_of(app_id, tell).await?;
            return self.find_orphans_of(app_id, tell).await;
        }
        let mut after: Option<AppId> = None;
        loop {
            let next = || self.app_with_wallets_after(after.as_ref());
            let next = self.read_until(Instant::now() + MAX_STEP, next).await?;
            let Some(app_id) = next else { break };
            self.verify_wallets_of(&app_id, tell).await?;
            after = Some(app_id);
        }
        let mut after: Option<AppId> = None;
        loop {
            let next = || self.app_with_lines_after(after.as_ref());
            let next = self.read_until(Instant::now() + MAX_STEP, next).await?;
            let Some(app_id) = next else { return Ok(()) };
            self.find_orphans_of(&app_id, tell).await?;
            after = Some(app_id);
        }
    }

    /// Finds archived entries of an app without a wallet, person by person: the index leads from one to the next.
    async fn find_orphans_of(
        &self,
        app_id: &AppId,
        tell: &mut (dyn FnMut(WalletVerification<'_>) + Send),
    ) -> Result<(), StoreError> {
        let mut after: Option<UserId> = None;
        loop {
            let next = || self.lines_without_wallet(app_id, after.as_ref());
            let next = self.read_until(Instant::now() + MAX_STEP, next).await?;
            let Some((user_id, orphans)) = next else { return Ok(()) };
            if orphans > 0 && !self.is_being_erased(app_id, &user_id).await? {
                // An erasure may have ended since they were counted.
                let again = || self.count_orphans(app_id, &user_id);
                let orphans = self.read_until(Instant::now() + MAX_STEP, again).await?;
                if orphans > 0 {
                    tell(WalletVerification::Orphans(app_id, &user_id, orphans));
                }
            }
            after = Some(user_id);
        }
    }

    /// Returns whether an erasure is under way that moves the wallet of this person, or to this wallet of the pseudonym: the
    /// entries move before the wallet, and the old ones go after it.
    async fn is_being_erased(&self, app_id: &AppId, user_id: &UserId) -> Result<bool, StoreError> {
        let under_way = || self.erasures_under_way(usize::MAX);
        let unfinished = self.read_until(Instant::now() + MAX_STEP, under_way).await?;
        Ok(unfinished.iter().any(|erasure| {
            let alias = user_id.as_str().strip_prefix(Erasure::PREFIX);
            erasure.app_id == *app_id
                && (erasure.user_id.as_ref() == Some(user_id)
                    || alias.is_some_and(|it| it.starts_with(&erasure.pseudonym.to_string())))
        }))
    }

    /// Returns the next person with archived entries, and how many of them have no wallet: all or none.
    async fn lines_without_wallet(
        &self,
        app_id: &AppId,
        after: Option<&UserId>,
    ) -> Result<Option<(UserId, u64)>, Failure> {
        let after = after.map_or("", UserId::as_str);
        let query = doc! { "app_id": app_id.as_str(), "user_id": { "$gt": after } };
        let find = self.inner.wallet_entries.find_one(query);
        let Some(line) = find.sort(doc! { "user_id": 1, "sequence": -1 }).await? else {
            return Ok(None);
        };
        let (_, user_id) = line_owner(&line)?;
        let orphans = self.count_orphans(app_id, &user_id).await?;
        Ok(Some((user_id, orphans)))
    }

    /// Returns how many archived entries of a person have no wallet: all or none.
    async fn count_orphans(&self, app_id: &AppId, user_id: &UserId) -> Result<u64, Failure> {
        let wallet = doc! { "_id": wallet_id(app_id, user_id.as_str()) };
        if self.inner.wallets.find_one(wallet).await?.is_some() {
            return Ok(0);
        }
        let lines = doc! { "app_id": app_id.as_str(), "user_id": user_id.as_str() };
        Ok(self.inner.wallet_entries.count_documents(lines).await?)
    }

    /// Returns the first app after `after` that has archived entries.
    async fn app_with_lines_after(&self, after: Option<&AppId>) -> Result<Option<AppId>, Failure> {
        let query = doc! { "app_id": { "$gt": after.map_or("", AppId::as_str) } };
        let find = self.inner.wallet_entries.find_one(query);
        let line = find.sort(doc! { "app_id": 1, "user_id": 1, "sequence": -1 }).await?;
        Ok(line.map(|line| line_owner(&line)).transpose()?.map(|(app_id, _)| app_id))
    }

    async fn verify_wallets_of(
        &self,
        app_id: &AppId,
        tell: &mut (dyn FnMut(WalletVerification<'_>) + Send),
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let query = wallets_after(app_id, after.as_ref());
            let page = || async {
                let find = self.inner.wallets.find(query.clone()).sort(doc! { "_id": 1 });
                Ok(find.limit(WALLETS).await?.try_collect::<Vec<RawDocumentBuf>>().await?)
            };
            let page = self.read_until(Instant::now() + MAX_STEP, page).await?;
            for raw in &page {
                let stored = stored_wallet(raw)?;
                self.verify_wallet(&stored, tell).await?;
                after = Some(stored.wallet.user_id);
            }
            if page.is_empty() {
                return Ok(());
            }
        }
    }

    async fn verify_wallet(
        &self,
        stored: &StoredWallet,
        tell: &mut (dyn FnMut(WalletVerification<'_>) + Send),
    ) -> Result<(), StoreError> {
        let wallet = &stored.wallet;
        tell(WalletVerification::Wallet(wallet));
        let mut sum = Sum::default();
        let mut next = 0;
        loop {
            let lines = || async { self.lines_from(wallet, next, stored.first_sequence).await };
            let lines = self.read_until(Instant::now() + MAX_STEP, lines).await?;
            let Some(last) = lines.last() else { break };
            next = last.sequence + 1;
            sum.add_all(wallet, &lines, tell);
        }
        sum.add_all(wallet, &stored.tail, tell);
        if sum.count != wallet.entry_count {
            let (made, there) = (wallet.entry_count, sum.count);
            let difference = format!("the wallet counts {made} entries, {there} are stored");
            tell(WalletVerification::Difference(wallet, difference));
        }
        if sum.amount != wallet.balance {
            let (balance, sum) = (wallet.balance, sum.amount);
            let difference = format!("the balance is {balance}, the entries add up to {sum}");
            tell(WalletVerification::Difference(wallet, difference));
        }
        Ok(())
    }

    /// Returns the first archived entries of a wallet within these sequences.
    pub(crate) async fn lines_from(
        &self,
        wallet: &Wallet,
        from: u64,
        before: u64,
    ) -> Result<Vec<WalletEntry>, Failure> {
        if from >= before {
            return Ok(Vec::new());
        }
        let query = doc! {
            "app_id": wallet.app_id.as_str(),
            "user_id": wallet.user_id.as_str(),
            "sequence": { "$gte": counter(from), "$lt": counter(before) },
        };
        let find = self.inner.wallet_entries.find(query).sort(doc! { "sequence": 1 });
        let lines: Vec<RawDocumentBuf> = find.limit(LINES).await?.try_collect().await?;
        Ok(lines.iter().map(|line| line_record(line)).collect::<Result<_, _>>()?)
    }
}

impl Sum {
    /// Adds entries, and reports each entry after which the balance is wrong.
    ///
    /// An error that is the same as after the entry before is not reported again.
    fn add_all(
        &mut self,
        wallet: &Wallet,
        entries: &[WalletEntry],
        tell: &mut (dyn FnMut(WalletVerification<'_>) + Send),
    ) {
        for entry in entries {
            self.count += 1;
            self.amount = self.amount.saturating_add(entry.amount);
            let was_off =
                std::mem::replace(&mut self.off, entry.balance.saturating_sub(self.amount));
            if self.off != was_off {
                let (id, balance) = (&entry.entry_id, entry.balance);
                let was = format!("the balance after entry {id} is {balance}");
                let difference = format!("{was}, the entries up to it add up to {}", self.amount);
                tell(WalletVerification::Difference(wallet, difference));
            }
        }
        tell(WalletVerification::Entries(entries.len() as u64));
    }
}
