//! Forgets salts: without its salt, a commitment tells nothing about the text that it was made of.

use std::collections::BTreeSet;

use bson::{Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::Collection;
use records::{AppId, ChatId};

use super::documents::{COMMITMENTS, ChainBlockDocument, ChainDocument, OPEN};
use crate::integrity::{Commitment, stored};
use crate::mongo::MongoStore;
use crate::mongo::collection_names::INTEGRITY_CHAINS;
use crate::mongo::documents::binary;
use crate::mongo::documents::stored::read_document;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::chat_filter;
use crate::mongo::engine::transaction::Transaction;
use crate::mongo::purges::records_filter;
use crate::mongo::transcript::reader::{MAX_READ_ATTEMPTS, gap_error};

impl MongoStore {
    /// Forgets the salts of messages that are erased, in the chains of a chat and of those that show its messages.
    pub(crate) async fn forget_commitments(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        erased: &BTreeSet<u64>,
    ) -> Result<(), Failure> {
        if erased.is_empty() {
            return Ok(());
        }
        let is_old = |it: &Commitment| erased.contains(&it.sequence);
        for chat_id in self.ids_that_show(app_id, chat_id).await? {
            self.forget_in_chain(app_id, &chat_id, &is_old).await?;
        }
        Ok(())
    }

    async fn forget_in_chain(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        is_old: &impl Fn(&Commitment) -> bool,
    ) -> Result<(), Failure> {
        let forget = self.forgetting(app_id, chat_id, is_old);
        let chains = &self.inner.integrity_chains;
        for _ in 0..MAX_READ_ATTEMPTS {
            let one = chat_filter(app_id, chat_id);
            let Some(raw) = chains.find_one(one.clone()).await? else { return Ok(()) };
            let chain: ChainDocument = read_document(INTEGRITY_CHAINS, &raw)?;
            // The open block first: once it is full, it is among the others.
            if overwrite(chains, one, OPEN, chain.open, &forget, None).await? {
                let blocks = self.inner.integrity_blocks.find(records_filter(app_id, chat_id));
                let blocks: Vec<RawDocumentBuf> = blocks.await?.try_collect().await?;
                return self.forget_in(&blocks, &forget, None).await;
            }
        }
        Err(gap_error(chat_id))
    }

    /// Forgets salts in the full blocks of a chain, within a transaction.
    pub(super) async fn forget_in_blocks(
        &self,
        tx: &Transaction<'_>,
        app_id: &AppId,
        chat_id: &ChatId,
        forget: &impl Fn(&mut Commitment),
    ) -> Result<(), Failure> {
        let blocks = self.inner.integrity_blocks.find(records_filter(app_id, chat_id));
        let blocks: Vec<RawDocumentBuf> = blocks.await?.try_collect().await?;
        self.forget_in(&blocks, forget, Some(tx)).await
    }

    /// Returns what forgets the salt of an old commitment of a chat.
    pub(super) fn forgetting<'a>(
        &'a self,
        app_id: &'a AppId,
        chat_id: &'a ChatId,
        is_old: &'a impl Fn(&Commitment) -> bool,
    ) -> impl Fn(&mut Commitment) + 'a {
        move |commitment| {
            if is_old(commitment) {
                commitment.forget(self.inner.integrity.as_ref(), (app_id, chat_id));
            }
        }
    }

    /// A full block is only written to forget salts in it, so one that has changed meanwhile is read again.
    async fn forget_in(
        &self,
        blocks: &[RawDocumentBuf],
        forget: &impl Fn(&mut Commitment),
        tx: Option<&Transaction<'_>>,
    ) -> Result<(), Failure> {
        let collection = &self.inner.integrity_blocks;
        for raw in blocks {
            let mut block = ChainBlockDocument::read(raw)?;
            for _ in 0..MAX_READ_ATTEMPTS {
                let id = block.id.id();
                let one = doc! { "_id": id, "app_id": block.app_id.as_str() };
                let held = std::mem::take(&mut block.commitments);
                if overwrite(collection, one.clone(), COMMITMENTS, held, forget, tx).await? {
                    break;
                }
                let Some(raw) = collection.find_one(one).await? else { break };
                block = ChainBlockDocument::read(&raw)?;
            }
        }
        Ok(())
    }
}

/// Forgets salts in a block that is stored in a field. Returns false if the block has changed since it was read.
async fn overwrite(
    collection: &Collection<RawDocumentBuf>,
    mut one: Document,
    field: &str,
    bytes: Vec<u8>,
    forget: &impl Fn(&mut Commitment),
    tx: Option<&Transaction<'_>>,
) -> Result<bool, Failure> {
    // What cannot be read is reported by the verification.
    let Some(mut commitments) = Commitment::read_all(&bytes) else { return Ok(true) };
    commitments.iter_mut().for_each(forget);
    let without_salts = stored(&commitments);
    if without_salts == bytes {
        return Ok(true);
    }
    one.insert(field, binary(&bytes));
    let update = doc! { "$set": { field: binary(&without_salts) } };
    let update = collection.update_one(one, update);
    let updated = match tx {
        Some(tx) => update.session(&mut *tx.session().await?).await?,
        None => update.await?,
    };
    Ok(updated.matched_count == 1)
}
