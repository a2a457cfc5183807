//! Commits to what is new, and signs.

use std::collections::{BTreeSet, HashMap};
use std::iter;
use std::ops::Range;

use bson::{RawDocumentBuf, doc};
use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use records::{AppId, ChatId};

use super::documents::{ChainBlockDocument, ChainDocument, OPEN, SIGNED};
use super::messages::{Appends, Comparison, ShownMessage};
use crate::StoreError;
use crate::integrity::{BLOCK, Chain, Checkpoint, Commitment, Covered, IntegrityKeys, stored};
use crate::metrics::Sweep;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::INTEGRITY_CHAINS;
use crate::mongo::documents::stored::read_document;
use crate::mongo::documents::{SCHEMA_VERSION, binary, chat_head_record, encode, head_projection};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::engine::scope::chat_filter;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::purges::{is_purged, records_filter};
use crate::mongo::search::next_after;
use crate::mongo::transcript::reader::SessionView;
use crate::store::{CatchUp, ChatHead, SigningPass};

/// The most messages that are committed to in one step.
const MESSAGES: u64 = 4_096;

/// The chain of a chat as it was signed, with the block that is not full.
#[derive(Debug)]
pub(super) struct SignedChain {
    pub(super) checkpoint: Checkpoint,
    pub(super) chain: Chain,
    /// The open block as it is stored.
    stored: Vec<u8>,
}

/// What is stored of a chain.
#[derive(Debug)]
pub(super) enum FoundChain {
    /// Nothing.
    None,
    Signed(Box<SignedChain>),
    /// It is not what was signed.
    Broken(&'static str),
}

/// What one step has done for a chat.
#[derive(Debug, Default)]
struct Step {
    commitments: u64,
    is_last: bool,
    /// What is wrong with the chat.
    broken: Option<String>,
}

/// What was changed in signed messages.
#[derive(Debug, Default)]
struct Changed {
    commitments: Vec<Commitment>,
    /// The messages that no service has changed.
    wrong: Vec<u64>,
    /// How many commitments the chain had before.
    known: usize,
}

impl MongoStore {
    /// Signs chats of an app that have changed since a time, or of all.
    pub(super) async fn sign_changed(
        &self,
        app_id: &AppId,
        since: Option<DateTime<Utc>>,
        after: Option<&CatchUp>,
        limit: usize,
    ) -> Result<(SigningPass, Option<CatchUp>), StoreError> {
        let mut pass = SigningPass::default();
        if self.inner.integrity.is_none() || !self.read(|| self.writes(Shape::Integrity)).await? {
            return Ok((pass, None));
        }
        let now = self.inner.clock.now();
        let at = after.cloned().unwrap_or_else(|| CatchUp::begin(now, since));
        let (changed, is_last) = self.read(|| self.changed_chats(app_id, &at, limit)).await?;
        let chats: Vec<ChatId> = changed.iter().map(|chat| chat.chat_id.clone()).collect();
        for chat_id in self.read(|| self.unsigned(app_id, &chats)).await? {
            let signed = self.sign_chat(app_id, &chat_id, &mut pass).await;
            self.skip_corrupt(Sweep::Integrity, signed)?;
        }
        Ok((pass, next_after(&at, changed, is_last)))
    }

    /// Returns those of some chats that have something to sign.
    async fn unsigned(&self, app_id: &AppId, chats: &[ChatId]) -> Result<Vec<ChatId>, Failure> {
        let ids: Vec<&str> = chats.iter().map(ChatId::as_str).collect();
        let these = doc! { "_id": { "$in": ids }, "app_id": app_id.as_str() };
        let chains = self.inner.integrity_chains.find(these.clone());
        let chains: Vec<RawDocumentBuf> =
            chains.projection(doc! { SIGNED: 1, "schema_version": 1 }).await?.try_collect().await?;
        let signed: HashMap<&str, Option<Checkpoint>> = chains
            .iter()
            .filter_map(|raw| {
                let keys = self.inner.integrity.as_ref()?;
                let signed = raw.get_str(SIGNED).ok()?;
                Some((raw.get_str("_id").ok()?, Checkpoint::verified(keys, signed)))
            })
            .collect();
        let heads = self.inner.chat_sessions.find(these).projection(head_projection()).await?;
        let heads: Vec<RawDocumentBuf> = heads.try_collect().await?;
        let mut unsigned = Vec::new();
        for raw in &heads {
            let head = self.skip_corrupt(Sweep::Integrity, chat_head_record(raw))?;
            let Some(head) = head else { continue };
            let chat_id = raw.get_str("_id").unwrap_or_default();
            let is_signed = match signed.get(chat_id) {
                None => head.last_sequence == 0,
                Some(None) => false,
                Some(Some(it)) => {
                    it.messages == head.last_sequence && it.revision == revision(&head)
                }
            };
            if !is_signed && !is_purged(raw) {
                unsigned.extend(ChatId::parse(chat_id).ok());
            }
        }
        Ok(unsigned)
    }

    async fn sign_chat(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        pass: &mut SigningPass,
    ) -> Result<(), StoreError> {
        pass.chats += 1;
        loop {
            let (app, chat) = (app_id.clone(), chat_id.clone());
            let step = self.write(|call| async move {
                call.transact_without_chat(|tx| call.sign_round(tx, &app, &chat)).await
            });
            let step = step.await?;
            pass.commitments += step.commitments;
            if let Some(detail) = step.broken {
                tracing::error!(%app_id, %chat_id, detail, "a chat was changed without a service");
                pass.broken += 1;
            }
            if step.is_last {
                return Ok(());
            }
        }
    }

    /// Commits to the next messages of a chat, and to those that a service has changed.
    async fn sign_round(
        &self,
        tx: Transaction<'_>,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<Round<Step>, Failure> {
        let Some(keys) = self.inner.integrity.as_ref() else {
            return Ok(Round::Done(Step { is_last: true, ..Step::default() }));
        };
        let broken = |detail: String| {
            Ok(Round::Done(Step { is_last: true, broken: Some(detail), ..Step::default() }))
        };
        // Before the messages: what is read of them is then at least as new as the commitments.
        let before = match self.chain_of(&mut ReadAt::Latest, keys, app_id, chat_id).await? {
            FoundChain::Broken(detail) => return broken(detail.to_owned()),
            FoundChain::None => None,
            FoundChain::Signed(signed) => Some(signed),
        };
        let mut projection = SessionView::projection();
        projection.extend(head_projection());
        let session = self.inner.chat_sessions.find_one(chat_filter(app_id, chat_id));
        let session = session.projection(projection).await?;
        let Some(raw) = session.filter(|raw| !is_purged(raw)) else {
            return Ok(Round::Done(Step { is_last: true, ..Step::default() }));
        };
        let (head, session) = (chat_head_record(&raw)?, SessionView::read(chat_id, &raw)?);
        let (messages, seen) =
            before.as_ref().map_or((0, 0), |it| (it.checkpoint.messages, it.checkpoint.revision));
        if head.last_sequence < messages {
            let last = head.last_sequence;
            return broken(format!("{messages} messages were signed, and it has {last}"));
        }
        let new = messages..head.last_sequence.min(messages + MESSAGES);
        let mut appends = self.appends_after(before.as_deref()).await?;
        let appended =
            self.commit_appended(keys, app_id, &session, new.clone(), &mut appends).await?;
        if let Some(forged) = appends.forged.first() {
            return broken(format!("no service has appended message {forged}"));
        }
        // A fork shows what was changed before it was made.
        let edited = match &before {
            Some(signed) if revision(&head) > seen => edited_since(signed, &head, messages),
            _ => Vec::new(),
        };
        let changed = match &before {
            Some(signed) if !edited.is_empty() => {
                self.commit_changed(keys, app_id, &session, signed, edited).await?
            }
            _ => Some(Changed::default()),
        };
        let Some(Changed { commitments: changed, wrong, known }) = changed else {
            return broken("the blocks of its chain are not what was signed".to_owned());
        };

        let mut chain =
            before.as_ref().map_or_else(|| Chain::begin(app_id, chat_id), |it| it.chain.clone());
        let open = chain.open().len();
        let mut full: Vec<_> =
            changed.iter().filter_map(|commitment| chain.push(*commitment)).collect();
        if !changed.is_empty() {
            self.begin_once(&tx).await?;
            let is_old =
                |it: &Commitment| changed.iter().any(|newer| newer.sequence == it.sequence);
            let forget = self.forgetting(app_id, chat_id, &is_old);
            // In the blocks that were full before, where they are stored.
            self.forget_in_blocks(&tx, app_id, chat_id, &forget).await?;
            for (number, block) in &mut full {
                let first = usize::try_from(*number).unwrap_or(usize::MAX).saturating_mul(BLOCK);
                block.iter_mut().take(known.saturating_sub(first)).for_each(&forget);
            }
            if full.is_empty() {
                chain.open_mut().iter_mut().take(open).for_each(&forget);
            }
        }
        full.extend(appended.iter().filter_map(|commitment| chain.push(*commitment)));

        let is_last = new.end == head.last_sequence;
        // While messages are left, the next step looks at the changed ones again.
        let seen = if is_last { revision(&head).max(seen) } else { seen };
        let covered =
            Covered { messages: new.end, revision: seen, tagged_from: appends.tagged_from };
        let signed_at = self.inner.clock.now();
        let checkpoint = Checkpoint::sign(keys, (app_id, chat_id), &chain, covered, signed_at);
        let written = self.write_chain(&tx, before.as_deref(), &checkpoint, &chain, full).await?;
        if !written && before.is_none() && !tx.is_first() {
            // No other process has inserted it meanwhile: the next round would not find it either.
            let (id, field) = (chat_id.to_string(), "app_id".to_owned());
            let collection = INTEGRITY_CHAINS;
            return Err(StoreError::Corrupt { collection, id, field, source: None }.into());
        }
        let step = Step {
            commitments: (changed.len() + appended.len()) as u64,
            is_last,
            broken: (!wrong.is_empty())
                .then(|| format!("the messages {wrong:?} differ from what was signed")),
        };
        Ok(Round::of(written.then_some(step)))
    }

    /// Commits to messages that are not signed yet, except for those that no service has appended.
    async fn commit_appended(
        &self,
        keys: &IntegrityKeys,
        app_id: &AppId,
        session: &SessionView<'_>,
        new: Range<u64>,
        appends: &mut Appends,
    ) -> Result<Vec<Commitment>, Failure> {
        let mut commitments = Vec::new();
        let take = |shown: ShownMessage| {
            if appends.accept(keys, app_id, &shown) {
                commitments.push(shown.commit()?);
            }
            Ok(())
        };
        self.each_shown(&mut ReadAt::Latest, app_id, session, new, take).await?;
        Ok(commitments)
    }

    /// Commits to what a service has changed in some spans of signed messages; `None` if the blocks are not what was signed.
    async fn commit_changed(
        &self,
        keys: &IntegrityKeys,
        app_id: &AppId,
        session: &SessionView<'_>,
        signed: &SignedChain,
        spans: Vec<Range<u64>>,
    ) -> Result<Option<Changed>, Failure> {
        let (mut at, chat_id) = (ReadAt::Latest, session.lineage.chat_id());
        let Some(all) = self.all_commitments(&mut at, signed, app_id, chat_id).await? else {
            return Ok(None);
        };
        let newest = newest_of(&all);
        let mut changed = Changed { known: all.len(), ..Changed::default() };
        for span in spans {
            let take = |shown: ShownMessage| {
                let sequence = shown.sequence();
                let Some(old) = newest.get(&sequence) else { return Ok(()) };
                match shown.compare(keys, (app_id, chat_id), &all[*old]) {
                    Comparison::Same => {}
                    Comparison::Changed => changed.commitments.push(shown.commit()?),
                    Comparison::Broken => changed.wrong.push(sequence),
                }
                Ok(())
            };
            self.each_shown(&mut at, app_id, session, span, take).await?;
        }
        Ok(Some(changed))
    }

    async fn begin_once(&self, tx: &Transaction<'_>) -> Result<(), Failure> {
        if tx.has_begun() { Ok(()) } else { tx.begin().await }
    }

    /// Writes the new state of a chain. Returns false if another process has written it meanwhile.
    async fn write_chain(
        &self,
        tx: &Transaction<'_>,
        before: Option<&SignedChain>,
        checkpoint: &Checkpoint,
        chain: &Chain,
        full: Vec<(u64, Vec<Commitment>)>,
    ) -> Result<bool, Failure> {
        let (app_id, chat_id) = (&checkpoint.app_id, &checkpoint.chat_id);
        if !full.is_empty() {
            self.begin_once(tx).await?;
        }
        let blocks = full.iter().map(|(number, commitments)| {
            encode(&ChainBlockDocument::new((app_id, chat_id), *number, commitments))
        });
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        let chains = &self.inner.integrity_chains;
        if let Some(before) = before {
            let mut unchanged = chat_filter(app_id, chat_id);
            unchanged.insert(SIGNED, before.checkpoint.signed.as_str());
            unchanged.insert(OPEN, binary(&before.stored));
            let set = doc! { SIGNED: &checkpoint.signed, OPEN: binary(&stored(chain.open())) };
            let update = chains.update_one(unchanged, doc! { "$set": set });
            let updated = if tx.has_begun() {
                update.session(&mut *tx.session().await?).await?
            } else {
                update.await?
            };
            if updated.matched_count == 0 {
                return Ok(false);
            }
        } else {
            let document = encode(&ChainDocument {
                chat_id: chat_id.clone(),
                app_id: app_id.clone(),
                signed: checkpoint.signed.clone(),
                open: stored(chain.open()),
                schema_version: SCHEMA_VERSION,
            })?;
            let insert = chains.insert_one(&document);
            let inserted = if tx.has_begun() {
                insert.session(&mut *tx.session().await?).await
            } else {
                insert.await
            };
            match inserted {
                Ok(_) => {}
                Err(error) if is_duplicate_key(&error) => {
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
        for block in &blocks {
            let insert = self.inner.integrity_blocks.insert_one(block);
            insert.session(&mut *tx.session().await?).await?;
        }
        Ok(true)
    }

    /// Reads the chain of a chat, and verifies its signature and its open block.
    pub(super) async fn chain_of(
        &self,
        at: &mut ReadAt<'_>,
        keys: &IntegrityKeys,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<FoundChain, Failure> {
        let find = self.inner.integrity_chains.find(chat_filter(app_id, chat_id)).limit(-1);
        let Some(raw) = at.all(find).await?.pop() else { return Ok(FoundChain::None) };
        let found: ChainDocument = read_document(INTEGRITY_CHAINS, &raw)?;
        let Some(checkpoint) = Checkpoint::verified(keys, &found.signed) else {
            return Ok(FoundChain::Broken("no known key has signed its checkpoint"));
        };
        if (&checkpoint.app_id, &checkpoint.chat_id) != (app_id, chat_id) {
            return Ok(FoundChain::Broken("its checkpoint is that of another chat"));
        }
        let Some(open) = Commitment::read_all(&found.open) else {
            return Ok(FoundChain::Broken("its open block cannot be read"));
        };
        let chain = Chain::resume(checkpoint.closed, checkpoint.commitments / BLOCK as u64, open);
        if chain.length() != checkpoint.commitments || chain.root() != checkpoint.root {
            return Ok(FoundChain::Broken("its open block is not what was signed"));
        }
        let signed = SignedChain { checkpoint, chain, stored: found.open };
        Ok(FoundChain::Signed(Box::new(signed)))
    }

    /// Reads all commitments of a chain; `None` if the full blocks are not what was signed.
    pub(super) async fn all_commitments(
        &self,
        at: &mut ReadAt<'_>,
        signed: &SignedChain,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<Option<Vec<Commitment>>, Failure> {
        let find = self.inner.integrity_blocks.find(records_filter(app_id, chat_id));
        let found = at.all(find.sort(doc! { "_id": 1 })).await?;
        let signed_blocks = usize::try_from(signed.chain.blocks()).unwrap_or(usize::MAX);
        // Another process may have added blocks since the chain was read.
        if found.len() > signed_blocks && matches!(at, ReadAt::Snapshot(_)) {
            return Ok(None);
        }
        let (mut chain, mut all) = (Chain::begin(app_id, chat_id), Vec::new());
        for raw in found.iter().take(signed_blocks) {
            let block = ChainBlockDocument::read(raw)?;
            let commitments = Commitment::read_all(&block.commitments);
            let Some(commitments) = commitments.filter(|it| it.len() == BLOCK) else {
                return Ok(None);
            };
            if block.id.block != chain.blocks() {
                return Ok(None);
            }
            for commitment in &commitments {
                chain.push(*commitment);
            }
            all.extend(commitments);
        }
        let is_whole =
            chain.closed() == signed.chain.closed() && chain.blocks() == signed.chain.blocks();
        all.extend_from_slice(signed.chain.open());
        Ok(is_whole.then_some(all))
    }
}

/// Returns the spans of signed messages that may have been changed since the checkpoint.
fn edited_since(signed: &SignedChain, head: &ChatHead, below: u64) -> Vec<Range<u64>> {
    let seen = u64::try_from(signed.checkpoint.revision).unwrap_or_default();
    // After more edits than the chat remembers, every message may be another one.
    let Some(edits) = head.edits_since(seen) else {
        return iter::once(0..below).collect();
    };
    let sequences: BTreeSet<u64> = edits.into_iter().map(|(_, sequence)| sequence).collect();
    let signed = sequences.into_iter().filter(|sequence| *sequence < below);
    signed.map(|sequence| sequence..sequence.saturating_add(1)).collect()
}

/// Returns the place of the newest commitment to each message.
pub(super) fn newest_of(all: &[Commitment]) -> HashMap<u64, usize> {
    all.iter().enumerate().map(|(place, it)| (it.sequence, place)).collect()
}

fn revision(head: &ChatHead) -> i64 {
    i64::try_from(head.revision).unwrap_or(i64::MAX)
}
