//! The payment for calls, within the transaction that records them.

use mongodb::options::ReturnDocument;
use records::{ChatSession, ChatStatus, EntryKind, Scope};

use crate::mongo::MongoStore;
use crate::mongo::calls::RecordingMark;
use crate::mongo::documents::{stored_wallet, wallet_filter};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::transaction::Transaction;
use crate::mongo::wallets::archive::{FULL_TAIL, is_due};
use crate::mongo::wallets::change::{admitting, newest_entry, update};
use crate::rules::billing::Bill;
use crate::rules::call_batch::DigestedCall;
use crate::rules::ledger::Change;
use crate::rules::new_chat::moved;
use crate::store::Payment;

impl MongoStore {
    /// Debits a wallet for calls. If the wallet holds too little, the chat is paused. Returns
    /// `None` if the wallet or the chat has changed since it was read.
    pub(crate) async fn pay(
        &self,
        tx: &Transaction<'_>,
        chat: &ChatSession,
        bill: &Bill,
    ) -> Result<Option<Payment>, Failure> {
        bill.entry.check()?;
        let scope = Scope::service(chat.app_id.clone());
        let now = self.inner.clock.now();
        let change =
            Change { user_id: &bill.user_id, new: &bill.entry, kind: EntryKind::Debit, now };
        let find = self.inner.wallets.find_one(wallet_filter(&scope, &bill.user_id));
        let stored = find.session(&mut *tx.session().await?).await?;
        let stored = stored.map(|raw| stored_wallet(&raw)).transpose()?;
        let balance = stored.as_ref().map_or(0, |stored| stored.wallet.balance);
        if let Some(stored) = stored
            && change.refusal(balance).is_none()
        {
            if stored.tail.len() >= FULL_TAIL {
                self.archive_entries(&scope, &stored).await?;
                return Ok(None);
            }
            let filter = admitting(&scope, &change, stored.first_sequence);
            let updating = self.inner.wallets.find_one_and_update(filter, update(&change)?);
            let updating = updating.return_document(ReturnDocument::After);
            let updated = updating.session(&mut *tx.session().await?).await?;
            let Some(raw) = updated else { return Ok(None) };
            let entry = newest_entry(stored_wallet(&raw)?, &change)?;
            if is_due(&entry) {
                self.archive_soon(&scope, &bill.user_id);
            }
            return Ok(Some(Payment::Paid(entry)));
        }
        let unpaid = bill.unpaid(balance);
        if chat.status != ChatStatus::Running {
            return Ok(Some(unpaid));
        }
        let reason = Bill::pause_reason(balance, bill.entry.amount);
        let paused = moved(chat, ChatStatus::Paused, Some(&reason), now);
        let id = bill.entry.entry_id.as_str();
        // Whether the chat exists for the caller is decided where its calls are recorded.
        let scope = scope.finding_deleted();
        let paused = self.change_status_within(tx, &scope, chat, &paused, id).await?;
        Ok(paused.map(|_| unpaid))
    }

    /// Returns the payment of an earlier attempt of a recording.
    pub(crate) async fn paid(
        &self,
        chat: &ChatSession,
        calls: &[&DigestedCall],
        recording: &RecordingMark,
    ) -> Result<Payment, Failure> {
        let Some(bill) = Bill::of(chat, calls, recording.billing, &recording.id) else {
            return Ok(Payment::None);
        };
        let scope = Scope::service(chat.app_id.clone());
        let Some(stored) = self.stored_wallet(&scope, &bill.user_id).await? else {
            return Ok(bill.unpaid(0));
        };
        let entry = self.known_entry(&scope, &stored, &bill.entry.entry_id).await?;
        Ok(entry.map_or_else(|| bill.unpaid(stored.wallet.balance), Payment::Paid))
    }
}
