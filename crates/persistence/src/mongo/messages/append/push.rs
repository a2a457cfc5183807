//! The append: one `findOneAndUpdate` that stores the messages and gives them their sequences.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bson::{DateTime, Document, doc};
use futures::TryStreamExt;
use mongodb::options::ReturnDocument;
use records::{ChatId, ChatStatus, Scope};

use crate::StoreError;
use crate::batch::{Batch, Known, Plan};
use crate::mongo::MongoStore;
use crate::mongo::attempts::Attempt;
use crate::mongo::documents::{
    MESSAGE_OVERHEAD, Segment, Tail, counter, known_messages, message_document, open_chat_session,
};
use crate::mongo::failure::Failure;
use crate::mongo::scope::writable_chat;
use crate::store::Append;

/// Remembers, for chats this process appends to, below which sequence everything is sealed.
///
/// A hint: an append is conditional on it, and one that is out of date costs a second look.
#[derive(Debug, Default)]
pub(in crate::mongo) struct SealedBelow(Mutex<HashMap<ChatId, u64>>);

impl SealedBelow {
    /// So that a process that serves many chats does not remember them for ever.
    const CAPACITY: usize = 65_536;

    fn get(&self, chat_id: &ChatId) -> u64 {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(chat_id).copied().unwrap_or(0)
    }

    fn learn(&self, chat_id: &ChatId, tail: &Tail) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.first_sequence == 0 {
            known.remove(chat_id);
            return;
        }
        if known.len() >= Self::CAPACITY {
            known.clear();
        }
        known.insert(chat_id.clone(), tail.first_sequence);
    }
}

/// What else must hold of the session for a push to be carried out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Condition {
    /// Nothing: the ids are new, having just been minted.
    None,
    /// No message has one of the ids: none in the tail, and no more are sealed than were looked at.
    NoneOfTheIds { sealed_below: u64 },
    /// No message was appended since this was the counter.
    NothingAppended { last_sequence: u64 },
}

/// A look at a chat: where its messages lie, and which ones its tail holds.
pub(super) struct Look {
    pub(super) tail: Tail,
    pub(super) in_tail: Vec<Known>,
}

impl MongoStore {
    pub(super) async fn append_batch(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &Batch,
    ) -> Result<Append, StoreError> {
        self.write(|attempt| async move { self.append_once(scope, chat_id, batch, attempt).await })
            .await
    }

    async fn append_once(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &Batch,
        attempt: Attempt,
    ) -> Result<Append, Failure> {
        // Ids minted for this call cannot have been stored, unless by an earlier attempt of it.
        let may_repeat = batch.has_given_ids() || !attempt.is_first;
        let mut known: Vec<Known> = Vec::new();
        loop {
            let sealed_below = self.inner.sealed_below.get(chat_id);
            if may_repeat && sealed_below > 0 {
                known.extend(self.known_in_segments(scope, chat_id, batch, sealed_below).await?);
            }
            let condition =
                if may_repeat { Condition::NoneOfTheIds { sealed_below } } else { Condition::None };
            // A conflict is for those who may see the chat, which the look below finds out.
            if let Ok(plan) = batch.plan(chat_id, &known)
                && let Some(done) = self.push(scope, chat_id, &plan, condition).await?
            {
                return Ok(done);
            }
            let look = self.look(scope, chat_id).await?;
            known.extend(look.in_tail);
            if may_repeat && look.tail.first_sequence != sealed_below {
                continue;
            }
            let plan = batch.plan(chat_id, &known)?;
            if let Some(done) = self.settle(scope, chat_id, &plan, &look.tail).await? {
                return Ok(done);
            }
        }
    }

    /// Answers if there is nothing to store; refuses, or makes room, if that is what kept a push
    /// from being carried out. `None`: try again.
    pub(super) async fn settle(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        plan: &Plan<'_>,
        tail: &Tail,
    ) -> Result<Option<Append>, Failure> {
        if plan.fresh().next().is_none() {
            return Ok(Some(plan.answer(tail.last_sequence, tail.last_sequence)));
        }
        if tail.status.is_ended() {
            let (chat_id, status) = (chat_id.clone(), tail.status);
            return Err(StoreError::ChatEnded { chat_id, status }.into());
        }
        if tail.bytes > self.inner.sealer.bounds().hard_bytes {
            self.seal_within(&scope.app_id, chat_id).await?;
        }
        Ok(None)
    }

    /// Stores the new messages of a plan, if there are any and the condition holds.
    pub(super) async fn push(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        plan: &Plan<'_>,
        condition: Condition,
    ) -> Result<Option<Append>, Failure> {
        let count = plan.fresh().count() as u64;
        if count == 0 {
            return Ok(None);
        }
        let filter = self.push_filter(scope, chat_id, plan, condition);
        let now = self.inner.clock.now();
        let bytes = plan.fresh().map(|entry| entry.bytes + MESSAGE_OVERHEAD).sum::<usize>();
        let documents: Vec<_> = plan.fresh().map(|entry| message_document(entry, now)).collect();
        let update = doc! {
            "$push": { "messages": { "$each": documents } },
            "$inc": { "last_sequence": counter(count), "tail_bytes": counter(bytes as u64) },
            "$set": { "last_updated_at": DateTime::from_chrono(now) },
        };
        let updated = self
            .inner
            .chat_sessions
            .find_one_and_update(filter, update)
            .projection(Tail::projection())
            .return_document(ReturnDocument::After)
            .await?;
        let Some(updated) = updated else {
            return Ok(None);
        };
        let tail = Tail::read(&open_chat_session(&updated)?)?;
        self.inner.sealed_below.learn(chat_id, &tail);
        self.seal_soon(&scope.app_id, chat_id, &tail);
        Ok(Some(plan.answer(tail.last_sequence - count, tail.last_sequence)))
    }

    fn push_filter(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        plan: &Plan<'_>,
        condition: Condition,
    ) -> Document {
        let going_on = [ChatStatus::Running.number(), ChatStatus::Paused.number()];
        let mut filter = writable_chat(scope, chat_id);
        filter.insert("status", doc! { "$in": going_on.to_vec() });
        filter
            .insert("tail_bytes", doc! { "$lte": counter(self.inner.sealer.bounds().hard_bytes) });
        match condition {
            Condition::None => {}
            Condition::NoneOfTheIds { sealed_below } => {
                let ids: Vec<&str> = plan.fresh().map(|entry| entry.event_id.as_str()).collect();
                filter.insert("first_sequence", counter(sealed_below));
                filter.insert("messages.event_id", doc! { "$nin": ids });
            }
            Condition::NothingAppended { last_sequence } => {
                filter.insert("last_sequence", counter(last_sequence));
            }
        }
        filter
    }

    /// Looks at a chat after an update that matched nothing.
    ///
    /// Such an update waits for the majority like any other, and this reads what the majority has:
    /// what is found here can no longer be lost, so it may be answered with.
    pub(super) async fn look(&self, scope: &Scope, chat_id: &ChatId) -> Result<Look, Failure> {
        let mut projection = Tail::projection();
        projection.insert("messages.event_id", 1);
        projection.insert("messages.digest", 1);
        let raw = self.session_within(scope, chat_id, projection).await?;
        let fields = open_chat_session(&raw)?;
        let tail = Tail::read(&fields)?;
        self.inner.sealed_below.learn(chat_id, &tail);
        Ok(Look { tail, in_tail: known_messages(&fields, tail.first_sequence)? })
    }

    /// Finds the messages sealed below a sequence that have one of the ids, and their neighbours.
    pub(super) async fn known_in_segments(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &Batch,
        sealed_below: u64,
    ) -> Result<Vec<Known>, Failure> {
        let ids: Vec<&str> = batch.event_ids().map(records::EventId::as_str).collect();
        let filter = doc! {
            "app_id": scope.app_id.as_str(),
            "_id.chat_id": chat_id.as_str(),
            "messages.event_id": { "$in": ids },
        };
        let projection = doc! { "messages.event_id": 1, "messages.digest": 1, "schema_version": 1 };
        let found = self.inner.chat_segments.find(filter).projection(projection).await?;
        let found: Vec<_> = found.try_collect().await?;
        let mut known = Vec::new();
        for raw in &found {
            let (first_sequence, fields) = Segment::open(chat_id, raw)?;
            // One that begins at or above the tail was left by a sealing that did not finish.
            if first_sequence < sealed_below {
                known.extend(known_messages(&fields, first_sequence)?);
            }
        }
        Ok(known)
    }
}
