//! Erases what belongs to a person and to no chat.

use bson::{DateTime, Document, RawDocumentBuf, doc};
use mongodb::Collection;
use mongodb::action::{Action as _, Delete};
use mongodb::options::Hint;
use records::{AppId, ChatId, ErasedKind, Erasure, Scope, UserId, Wallet, WalletEntry};

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
        let bound = self.read(|| self.chats_of_documents(&app_id, &person.user_id)).await?;
        let left = self.left_chats(&app_id, &bound).await?;
        for chat_id in &left {
            erasure.leave(chat_id);
        }
        let delete = |_| self.delete_of_user(person, &app_id, &left);
        let deleted = self.write_until(self.deadline(), delete);
        deleted.await?.into_iter().for_each(|(kind, count)| erasure.add(kind, count));
        Ok(())
    }

    /// Deletes what gives a person access, their assistants, and their documents except those of the chats that are `left`. The
    /// other collections are small, because their documents expire.
    async fn delete_of_user(
        &self,
        person: &Person,
        app_id: &AppId,
        left: &[ChatId],
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
        let documents = self.delete_documents_of(app_id, user_id, left).await?;
        Ok(vec![
            (ErasedKind::Assistants, assistants),
            (ErasedKind::Connections, connections),
            (ErasedKind::Documents, documents),
            (ErasedKind::Tickets, tickets),
            (ErasedKind::AccessKeys, keys),
        ])
    }

    /// Gives the wallet of a person to the pseudonym, without reasons. Returns how many entries it has; `None` if there is no
    /// wallet.
    ///
    /// A wallet that the person has got since an earlier one was given away becomes another wallet of the pseudonym.
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
        let alias = self.free_wallet_alias(scope, person).await?;
        // If another process has moved this wallet in between, the alias is that of the next one.
        let found_again = self.stored_wallet(scope, &person.user_id).await?;
        if found_again.is_none_or(|it| it.wallet != wallet) {
            return Ok(Round::Again);
        }
        let mut unchanged = wallet_filter(scope, &person.user_id);
        unchanged.insert("first_sequence", counter(first_sequence));
        unchanged.insert("last_sequence", counter(wallet.entry_count));
        unchanged.insert("created_at", DateTime::from_chrono(wallet.created_at));
        let alias = Wallet { user_id: alias, ..wallet.clone() };
        self.copy_lines(&wallet, &alias, first_sequence).await?;
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

    /// Returns the id of the first wallet of the pseudonym that does not exist.
    async fn free_wallet_alias(&self, scope: &Scope, person: &Person) -> Result<UserId, Failure> {
        let mut number = 1;
        loop {
            let alias = person.wallet_alias(number)?;
            if self.stored_wallet(scope, &alias).await?.is_none() {
                return Ok(alias);
            }
            number += 1;
        }
    }

    async fn copy_lines(
        &self,
        wallet: &Wallet,
        alias: &Wallet,
        first_sequence: u64,
    ) -> Result<(), Failure> {
        let mut next = 0;
        loop {
            let entries = self.lines_from(wallet, next, first_sequence).await?;
            let Some(last) = entries.last() else { return Ok(()) };
            next = last.sequence + 1;
            let copies: Vec<_> = entries.iter().map(without_reason).collect();
            self.insert_lines(alias, &copies).await?;
        }
    }
}

fn without_reason(entry: &WalletEntry) -> WalletEntry {
    WalletEntry { reason: None, ..entry.clone() }
}
