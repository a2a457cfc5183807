use bson::{Bson, RawDocumentBuf, doc};
use futures::TryStreamExt;
use records::{AppId, Scope, UserId, WalletEntry};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    counter, line_record, stored_wallet, wallet_filter, wallet_id, wallets_after,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::paging::limit_and_one;
use crate::store::{EntryPage, WalletPage};

impl MongoStore {
    /// Reads a page of entries: first from the tail, then from the lines below it.
    pub(crate) async fn entries_below(
        &self,
        scope: &Scope,
        user_id: &UserId,
        limit: usize,
        before: Option<u64>,
    ) -> Result<EntryPage, Failure> {
        let stored = self.stored_wallet(scope, user_id).await?;
        let stored = stored.ok_or_else(|| StoreError::WalletNotFound(user_id.clone()))?;
        let before = before.unwrap_or(stored.wallet.entry_count);
        // The additional entry shows whether there is another page.
        let wanted = limit.saturating_add(1);
        let newest_first = stored.tail.into_iter().rev();
        let mut entries: Vec<WalletEntry> =
            newest_first.filter(|entry| entry.sequence < before).take(wanted).collect();
        let missing = wanted - entries.len();
        if missing > 0 && stored.first_sequence > 0 {
            let below = before.min(stored.first_sequence);
            let query = doc! {
                "app_id": scope.app_id.as_str(),
                "user_id": user_id.as_str(),
                "sequence": { "$lt": counter(below) },
            };
            let find = self.inner.wallet_entries.find(query).sort(doc! { "sequence": -1 });
            let cursor = find.limit(i64::try_from(missing).unwrap_or(i64::MAX)).await?;
            let lines: Vec<RawDocumentBuf> = cursor.try_collect().await?;
            for line in lines {
                entries.push(line_record(&line)?);
            }
        }
        Ok(EntryPage::cut(entries, limit))
    }

    pub(crate) async fn wallets_after(
        &self,
        scope: &Scope,
        limit: usize,
        after: Option<&UserId>,
    ) -> Result<WalletPage, Failure> {
        let mut query = wallets_after(&scope.app_id, after);
        if let Some(user_id) = scope.caller.person() {
            query = doc! { "$and": [query, wallet_filter(scope, user_id)] };
        }
        let find = self.inner.wallets.find(query).sort(doc! { "_id": 1 });
        let cursor = find.limit(limit_and_one(limit)).await?;
        let found: Vec<RawDocumentBuf> = cursor.try_collect().await?;
        let wallets = found.iter().map(|raw| Ok(stored_wallet(raw)?.wallet));
        Ok(WalletPage::cut(wallets.collect::<Result<_, Failure>>()?, limit))
    }

    pub(crate) async fn app_with_wallets_after(
        &self,
        after: Option<&AppId>,
    ) -> Result<Option<AppId>, Failure> {
        let after = after.map(|after| wallet_id(after, Bson::MaxKey));
        let query = after.map_or(doc! {}, |after| doc! { "_id": { "$gt": after } });
        let find = self.inner.wallets.find_one(query).sort(doc! { "_id": 1 });
        let raw = find.await?;
        Ok(raw.map(|raw| stored_wallet(&raw)).transpose()?.map(|stored| stored.wallet.app_id))
    }
}
