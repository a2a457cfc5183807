use bson::{DateTime, Document, doc};
use mongodb::options::{ReadConcern, ReturnDocument};
use records::{EntryId, EntryKind, NewWalletEntry, Scope, UserId, Wallet, WalletEntry};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    EntryDocument, NEWEST_VERSION, StoredWallet, counter, embedded, line_id, line_record,
    stored_wallet, wallet_filter,
};
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::Failure;
use crate::mongo::wallets::archive::{FULL_TAIL, is_due};
use crate::rules::ledger::{Change, check_open};
use crate::store::Written;

impl MongoStore {
    /// Credits or debits a wallet.
    pub(crate) async fn change_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
        new: NewWalletEntry,
        kind: EntryKind,
    ) -> Result<Written<WalletEntry>, StoreError> {
        new.check()?;
        check_open(scope, user_id)?;
        let (scope, user_id) = (scope.clone(), user_id.clone());
        self.write(|call| async move {
            let change = Change { user_id: &user_id, new: &new, kind, now: call.inner.clock.now() };
            let deciding = call.attempt(|attempt| call.decide(attempt, &scope, &change));
            let entry = deciding.await?;
            if is_due(&entry) {
                call.archive_soon(&scope, &user_id);
            }
            Ok(entry)
        })
        .await
    }

    /// Makes the change, finds that it was made before, or refuses it. The change is not made if
    /// the call has ended.
    async fn decide(
        &self,
        attempt: Attempt,
        scope: &Scope,
        change: &Change<'_>,
    ) -> Result<Written<WalletEntry>, Failure> {
        let mut is_tried = false;
        loop {
            let stored = self.stored_wallet(scope, change.user_id).await?;
            let stored = stored.ok_or_else(|| change.without_wallet())?;
            if let Some(known) = self.known_entry(scope, &stored, &change.new.entry_id).await? {
                let known = change.repeated(known)?;
                return Ok(Written::found(known, attempt.may_have_applied()));
            }
            // Only after an update that matched nothing: such an update has waited until the state
            // it saw was durable.
            if is_tried {
                attempt.note_nothing_applied();
            }
            if is_tried && let Some(refusal) = change.refusal(stored.wallet.balance) {
                return Err(refusal.into());
            }
            if stored.tail.len() >= FULL_TAIL {
                self.archive_entries(scope, &stored).await?;
                continue;
            }
            attempt.check_continues()?;
            let filter = admitting(scope, change, stored.first_sequence);
            let updating = self.inner.wallets.find_one_and_update(filter, update(change)?);
            if let Some(raw) = updating.return_document(ReturnDocument::After).await? {
                return Ok(Written::stored(newest_entry(stored_wallet(&raw)?, change)?));
            }
            is_tried = true;
        }
    }

    /// Searches an entry in the tail, and in the lines below it.
    pub(crate) async fn known_entry(
        &self,
        scope: &Scope,
        stored: &StoredWallet,
        entry_id: &EntryId,
    ) -> Result<Option<WalletEntry>, Failure> {
        let in_tail = stored.tail.iter().find(|entry| entry.entry_id == *entry_id);
        if in_tail.is_some() || stored.first_sequence == 0 {
            return Ok(in_tail.cloned());
        }
        let id = line_id(scope, &stored.wallet.user_id, entry_id.as_str());
        let find = self.inner.wallet_entries.find_one(doc! { "_id": id });
        // Local read concern, because a newly elected primary may not know yet that all lines are
        // durable. A line is only written for a durable entry.
        let line = find.read_concern(ReadConcern::local()).await?;
        Ok(line.map(|raw| line_record(&raw)).transpose()?)
    }
}

/// Returns a filter that matches the wallet only if it accepts the change.
///
/// The tail was not cut since the lines were searched, and the tail does not contain the id, so the
/// id is new. A delayed attempt finds one of these conditions false.
pub(crate) fn admitting(scope: &Scope, change: &Change<'_>, first_sequence: u64) -> Document {
    let mut filter = wallet_filter(scope, change.user_id);
    let balance = if change.kind == EntryKind::Debit {
        doc! { "$gte": change.new.amount }
    } else {
        doc! { "$lte": Wallet::MAX_BALANCE - change.new.amount }
    };
    filter.extend(doc! {
        "first_sequence": counter(first_sequence),
        "last_sequence": { "$lt": counter(first_sequence + FULL_TAIL as u64) },
        "entries.entry_id": { "$ne": change.new.entry_id.as_str() },
        "balance": balance,
        "schema_version": { "$lte": NEWEST_VERSION },
    });
    filter
}

pub(crate) fn update(change: &Change<'_>) -> Result<Document, Failure> {
    let entry = WalletEntry {
        entry_id: change.new.entry_id.clone(),
        kind: change.kind,
        amount: change.amount(),
        reason: change.new.reason.clone(),
        created_at: change.now,
        // The position in the tail gives both.
        sequence: 0,
        balance: 0,
    };
    let entry = embedded(&EntryDocument::from(&entry))?;
    Ok(doc! {
        "$inc": { "balance": change.amount(), "last_sequence": 1_i64 },
        "$push": { "entries": { "$each": [entry] } },
        "$set": { "last_updated_at": DateTime::from_chrono(change.now) },
    })
}

/// Returns the entry that an update has just made.
pub(crate) fn newest_entry(
    stored: StoredWallet,
    change: &Change<'_>,
) -> Result<WalletEntry, Failure> {
    let user_id = || change.user_id.clone();
    stored.tail.into_iter().next_back().ok_or_else(|| StoreError::WalletNotFound(user_id()).into())
}
