//! Moves entries from a wallet to lines of their own.
//!
//! Two writes: the lines are inserted, then the tail is cut. Who stops between the two leaves lines
//! that say what the tail says; whoever comes next inserts them again in vain, and cuts.

use bson::doc;
use mongodb::error::{Error, ErrorKind};
use records::{Scope, UserId, WalletEntry};

use crate::mongo::MongoStore;
use crate::mongo::documents::{
    NEWEST_VERSION, StoredWallet, counter, encode, line_document, one_wallet,
};
use crate::mongo::engine::failure::{DUPLICATE_KEY, Failure};

/// A wallet that holds so many entries takes no more until some are cut.
pub(crate) const FULL_TAIL: usize = 64;

/// One change in so many has the tail archived, after its answer.
const ARCHIVED_EVERY: u64 = 16;

/// Tells whether the change that made an entry has the tail archived.
pub(crate) fn is_due(entry: &WalletEntry) -> bool {
    (entry.sequence + 1).is_multiple_of(ARCHIVED_EVERY)
}

impl MongoStore {
    /// Archives the tail of a wallet whenever there is time; who is cut off leaves it to the next.
    pub(crate) fn archive_soon(&self, scope: &Scope, user_id: &UserId) {
        let (store, scope, user_id) = (self.clone(), scope.clone(), user_id.clone());
        tokio::spawn(async move {
            let archived = store
                .write_until(store.deadline(), |_| async {
                    match store.stored_wallet(&scope, &user_id).await? {
                        Some(stored) => store.archive_entries(&scope, &stored).await,
                        None => Ok(()),
                    }
                })
                .await;
            if let Err(error) = archived {
                tracing::debug!(%error, "the entries of a wallet stay in it for now");
            }
        });
    }

    /// Writes the lines of the tail that was read, then cuts it.
    pub(crate) async fn archive_entries(
        &self,
        scope: &Scope,
        stored: &StoredWallet,
    ) -> Result<(), Failure> {
        if stored.tail.is_empty() {
            return Ok(());
        }
        let lines = stored.tail.iter().map(|entry| line_document(&stored.wallet, entry));
        let lines = lines.map(|line| encode(&line)).collect::<Result<Vec<_>, _>>()?;
        match self.inner.wallet_entries.insert_many(lines).ordered(false).await {
            // The cut comes after those that were there, so it is not durable before they are.
            Err(error) if !are_all_there(&error) => return Err(error.into()),
            _ => {}
        }
        let ids: Vec<&str> = stored.tail.iter().map(|entry| entry.entry_id.as_str()).collect();
        let mut filter = one_wallet(scope, &stored.wallet.user_id);
        filter.insert("first_sequence", counter(stored.first_sequence));
        filter.insert("schema_version", doc! { "$lte": NEWEST_VERSION });
        let cut = doc! {
            "$pull": { "entries": { "entry_id": { "$in": ids } } },
            "$set": { "first_sequence": counter(stored.wallet.entry_count) },
        };
        self.inner.wallets.update_one(filter, cut).await?;
        Ok(())
    }
}

/// Tells whether an insertion failed only because some of it was there.
fn are_all_there(error: &Error) -> bool {
    let ErrorKind::InsertMany(insertion) = &*error.kind else { return false };
    let refused = insertion.write_errors.iter().flatten();
    insertion.write_concern_error.is_none()
        && refused.clone().next().is_some()
        && refused.into_iter().all(|write| write.code == DUPLICATE_KEY)
}
