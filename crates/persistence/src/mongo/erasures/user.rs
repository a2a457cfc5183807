//! Erases what belongs to a person and to no chat.

use bson::{Document, RawDocumentBuf, doc};
use mongodb::Collection;
use mongodb::action::{Action as _, Delete};
use mongodb::options::Hint;
use records::{AppId, ErasedKind, Erasure, Scope, Wallet, WalletEntry};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{StoredWallet, WalletDocument, counter, encode, wallet_filter};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::hinted;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::erasure::Person;

impl MongoStore {
    pub(super) async fn erase_of_user(
        &self,
        person: &Person,
        erasure: &mut Erasure,
    ) -> Result<(), StoreError> {
        let app_id = erasure.app_id.clone();
        let entries = self.anonymise_wallet(person, &app_id).await?;
        erasure.add(ErasedKind::Wallets, u64::from(entries.is_some()));
        erasure.add(ErasedKind::WalletEntries, entries.unwrap_or_default());
        let usages = self.erase_usage(&app_id, &person.user_id, &person.alias).await?;
        erasure.add(ErasedKind::Usages, usages);
        let deleted = self.write_until(self.deadline(), |_| self.delete_of_user(person, &app_id));
        deleted.await?.into_iter().for_each(|(kind, count)| erasure.add(kind, count));
        Ok(())
    }

    /// Deletes what gives a person access, and their assistants and documents. The other collections are small, because their documents
    /// expire.
    async fn delete_of_user(
        &self,
        person: &Person,
        app_id: &AppId,
    ) -> Result<Vec<(ErasedKind, u64)>, Failure> {
        let (user_id, app_id) = (person.user_id.as_str(), app_id.as_str());
        let delete = async |collection: &Collection<RawDocumentBuf>, index, theirs: Document| {
            let deleted = hinted(Hint::Keys(index), |hint| async {
                let delete = collection.delete_many(theirs.clone());
                Ok(delete.optional(hint, Delete::hint).await?.deleted_count)
            });
            deleted.await
        };
        let by_expiry = || doc! { "expires_at": 1 };
        let theirs = doc! { "app_id": app_id, "user_id": user_id };
        let connections = delete(&self.inner.presence, by_expiry(), theirs).await?;
        let theirs = doc! {
            "app_id": app_id,
            "$or": [{ "user_id": user_id }, { "token_subject": user_id }],
        };
        let tickets = delete(&self.inner.tickets, by_expiry(), theirs).await?;
        let theirs = doc! { "apps": [app_id], "user_id": user_id };
        let keys = delete(&self.inner.access_keys, doc! { "kind": 1, "_id": 1 }, theirs).await?;
        let theirs = doc! { "_id.app_id": app_id, "user_id": user_id };
        let by_owner = doc! { "_id.app_id": 1, "user_id": 1 };
        let assistants = delete(&self.inner.assistants, by_owner, theirs).await?;
        let documents = self.delete_documents_of(app_id, user_id).await?;
        Ok(vec![
            (ErasedKind::Assistants, assistants),
            (ErasedKind::Connections, connections),
            (ErasedKind::Documents, documents),
            (ErasedKind::Tickets, tickets),
            (ErasedKind::AccessKeys, keys),
        ])
    }

    /// Gives the wallet of a person to the alias, without reasons. Returns how many entries it has; `None` if there is no
    /// wallet.
    ///
    /// The archived entries are copied first. One transaction then replaces the wallet, if no more were archived meanwhile:
    /// until then the old wallet is whole, and from then on the new one.
    async fn anonymise_wallet(
        &self,
        person: &Person,
        app_id: &AppId,
    ) -> Result<Option<u64>, StoreError> {
        let scope = Scope::service(app_id.clone());
        let person = person.clone();
        self.write(|call| async move {
            let round = |tx| call.move_wallet_round(tx, &scope, &person);
            let moved = call.transact_without_chat(round).await?;
            let lines =
                doc! { "app_id": scope.app_id.as_str(), "user_id": person.user_id.as_str() };
            call.attempt(|_| async {
                Ok(call.inner.wallet_entries.delete_many(lines.clone()).await?)
            })
            .await?;
            Ok(moved)
        })
        .await
    }

    async fn move_wallet_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        person: &Person,
    ) -> Result<Round<Option<u64>>, Failure> {
        let stored = self.stored_wallet(scope, &person.user_id).await?;
        let Some(StoredWallet { wallet, first_sequence, tail }) = stored else {
            return Ok(Round::Done(None));
        };
        self.copy_lines(&wallet, person, first_sequence).await?;
        let mut unchanged = wallet_filter(scope, &person.user_id);
        unchanged.insert("first_sequence", counter(first_sequence));
        unchanged.insert("last_sequence", counter(wallet.entry_count));
        let alias = Wallet { user_id: person.alias.clone(), ..wallet };
        let tail = tail.iter().map(without_reason);
        let document = encode(&WalletDocument::with_tail(&alias, first_sequence, tail))?;
        tx.begin().await?;
        let wallets = &self.inner.wallets;
        let removed = wallets.delete_one(unchanged).session(&mut *tx.session().await?).await?;
        if removed.deleted_count == 0 {
            return Ok(Round::Again);
        }
        wallets.insert_one(document).session(&mut *tx.session().await?).await?;
        Ok(Round::Done(Some(alias.entry_count)))
    }

    async fn copy_lines(
        &self,
        wallet: &Wallet,
        person: &Person,
        first_sequence: u64,
    ) -> Result<(), Failure> {
        let alias = Wallet { user_id: person.alias.clone(), ..wallet.clone() };
        let mut next = 0;
        loop {
            let entries = self.lines_from(wallet, next, first_sequence).await?;
            let Some(last) = entries.last() else { return Ok(()) };
            next = last.sequence + 1;
            let copies: Vec<_> = entries.iter().map(without_reason).collect();
            self.insert_lines(&alias, &copies).await?;
        }
    }
}

fn without_reason(entry: &WalletEntry) -> WalletEntry {
    WalletEntry { reason: None, ..entry.clone() }
}
