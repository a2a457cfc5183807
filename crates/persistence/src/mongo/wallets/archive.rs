//! Moves entries from the tail of a wallet to separate documents, the *lines*.
//!
//! There are two writes: the lines are inserted, then the tail is cut. A process that stops between
//! the two leaves lines that repeat the tail. The next one inserts them again without effect, and
//! cuts.

use bson::doc;
use records::{Scope, UserId, Wallet, WalletEntry};

use crate::mongo::MongoStore;
use crate::mongo::documents::{
    LineDocument, NEWEST_VERSION, StoredWallet, counter, encode, wallet_filter,
};
use crate::mongo::engine::failure::{Failure, failed_only_on_duplicates};

/// The number of entries in the tail at which a wallet accepts no change until the tail is cut.
pub(crate) const FULL_TAIL: usize = 64;

/// One in this many changes archives the tail, after its answer.
const ARCHIVED_EVERY: u64 = 16;

/// Returns whether the change that made this entry archives the tail.
pub(crate) fn is_due(entry: &WalletEntry) -> bool {
    (entry.sequence + 1).is_multiple_of(ARCHIVED_EVERY)
}

impl MongoStore {
    /// Archives the tail of a wallet in the background. If that fails, a later change archives it.
    pub(crate) fn archive_soon(&self, scope: &Scope, user_id: &UserId) {
        let (store, scope, user_id) = (self.clone(), scope.clone(), user_id.clone());
        self.spawn(async move {
            let archived = store
                .write_until(store.deadline(), |_| async {
                    match store.stored_wallet(&scope, &user_id).await? {
                        Some(stored) => store.archive_entries(&scope, &stored).await,
                        None => Ok(()),
                    }
                })
                .await;
            if let Err(error) = archived {
                tracing::debug!(%error, "failed to archive the entries of a wallet; a later change retries");
            }
        });
    }

    /// Writes the lines of the tail, then cuts the tail.
    pub(crate) async fn archive_entries(
        &self,
        scope: &Scope,
        stored: &StoredWallet,
    ) -> Result<(), Failure> {
        if stored.tail.is_empty() {
            return Ok(());
        }
        self.insert_lines(&stored.wallet, &stored.tail).await?;
        let ids: Vec<&str> = stored.tail.iter().map(|entry| entry.entry_id.as_str()).collect();
        let mut filter = wallet_filter(scope, &stored.wallet.user_id);
        filter.insert("first_sequence", counter(stored.first_sequence));
        filter.insert("schema_version", doc! { "$lte": NEWEST_VERSION });
        let cut = doc! {
            "$pull": { "entries": { "entry_id": { "$in": ids } } },
            "$set": { "first_sequence": counter(stored.wallet.entry_count) },
        };
        self.inner.wallets.update_one(filter, cut).await?;
        Ok(())
    }

    /// Inserts the lines of entries that have none yet.
    pub(crate) async fn insert_lines(
        &self,
        wallet: &Wallet,
        entries: &[WalletEntry],
    ) -> Result<(), Failure> {
        let lines = entries.iter().map(|entry| encode(&LineDocument::new(wallet, entry)));
        let lines = lines.collect::<Result<Vec<_>, _>>()?;
        match self.inner.wallet_entries.insert_many(lines).ordered(false).await {
            // Existing lines may not be durable yet. What depends on them is written after them, so it becomes durable
            // after them.
            Err(error) if !failed_only_on_duplicates(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }
}
