//! The one update that stores messages, and the looks at a chat that decide about it.

use bson::raw::RawArrayBuf;
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc, rawdoc};
use chrono::Utc;
use futures::TryStreamExt;
use records::{ChatId, ChatStatus, EventId, Scope};

use crate::StoreError;
use crate::batch::{Entry, Known, Plan};
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    CHAT_SESSIONS, MESSAGE_OVERHEAD, Segment, Tail, counter, encode, known_messages,
    message_document, open_chat_session, segments_between,
};
use crate::mongo::failure::Failure;
use crate::mongo::scope::writable_chat;
use crate::store::Append;

/// What else must hold of the session for a push to be carried out.
#[derive(Debug, Clone, Copy)]
pub(in crate::mongo::messages) enum Condition {
    /// Nothing: the ids are new, having just been minted.
    None,
    /// No message has one of the ids: none in the tail, and what is sealed lies below this sequence,
    /// where none has.
    NoneOfTheIds { sealed_below: u64 },
    /// No message was appended since this was the counter.
    NothingAppended { last_sequence: u64 },
}

/// Messages on their way into the store.
struct Push {
    documents: Vec<RawDocumentBuf>,
    bytes: u64,
    now: chrono::DateTime<Utc>,
}

impl Push {
    fn update(&self) -> RawDocumentBuf {
        let mut messages = RawArrayBuf::new();
        for document in &self.documents {
            messages.push(document);
        }
        let count = counter(self.documents.len() as u64);
        rawdoc! {
            "$push": { "messages": { "$each": messages } },
            "$inc": { "last_sequence": count, "tail_bytes": counter(self.bytes) },
            "$set": { "last_updated_at": DateTime::from_chrono(self.now) },
        }
    }
}

/// The sequences that messages were given: from the first to before the last.
pub(in crate::mongo::messages) struct Pushed {
    pub(in crate::mongo::messages) first_sequence: u64,
    pub(in crate::mongo::messages) last_sequence: u64,
}

/// A look at a chat: where its messages lie, and which ones its tail holds.
pub(in crate::mongo::messages) struct Look {
    pub(in crate::mongo::messages) tail: Tail,
    pub(in crate::mongo::messages) in_tail: Vec<Known>,
}

impl MongoStore {
    /// Stores new messages, if there are any and the condition holds.
    pub(in crate::mongo::messages) async fn push(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fresh: &[&Entry],
        condition: Condition,
    ) -> Result<Option<Pushed>, Failure> {
        if fresh.is_empty() {
            return Ok(None);
        }
        let now = self.inner.clock.now();
        let bytes: usize = fresh.iter().map(|entry| entry.bytes + MESSAGE_OVERHEAD).sum();
        let documents = fresh.iter().map(|entry| message_document(entry, now)).collect();
        let push = Push { documents, bytes: bytes as u64, now };
        let filter = self.push_filter(scope, chat_id, fresh, condition);
        let Some(tail) = self.push_to_tail(filter, &push).await? else {
            return Ok(None);
        };
        let last_sequence = tail.last_sequence;
        let first_sequence = last_sequence - fresh.len() as u64;
        let ids = fresh.iter().map(|entry| entry.event_id.as_str());
        self.inner.event_ids.learn(chat_id, first_sequence, ids);
        self.seal_soon(&scope.app_id, chat_id, &tail);
        Ok(Some(Pushed { first_sequence, last_sequence }))
    }

    /// Pushes to the end of the tail.
    ///
    /// As a command of our own, because the driver would try a `findAndModify` again by itself, and
    /// for that the server keeps a copy of the whole session document with each. It is ours that
    /// are tried again, and these look for what an earlier one may have stored.
    async fn push_to_tail(&self, filter: Document, push: &Push) -> Result<Option<Tail>, Failure> {
        let command = rawdoc! {
            "findAndModify": CHAT_SESSIONS,
            "query": encode(&filter)?,
            "update": push.update(),
            "fields": encode(&Tail::projection())?,
            "new": true,
            "hint": "_id_",
            "writeConcern": { "w": "majority", "j": true },
        };
        let mut reply = self.inner.database.run_raw_command(command).await?;
        if let Some(error) = reply.remove("writeConcernError") {
            return Err(Failure::Unsafe(error.to_string().into()));
        }
        let Some(Bson::Document(updated)) = reply.remove("value") else {
            return Ok(None);
        };
        Ok(Some(Tail::read(&open_chat_session(&encode(&updated)?)?)?))
    }

    fn push_filter(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fresh: &[&Entry],
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
                let ids: Vec<&str> = fresh.iter().map(|entry| entry.event_id.as_str()).collect();
                filter.insert("first_sequence", doc! { "$lte": counter(sealed_below) });
                filter.insert("messages.event_id", doc! { "$nin": ids });
            }
            Condition::NothingAppended { last_sequence } => {
                filter.insert("last_sequence", counter(last_sequence));
            }
        }
        filter
    }

    /// Seals a tail that is too large to be appended to.
    pub(in crate::mongo::messages) async fn make_room(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        tail: &Tail,
    ) -> Result<(), Failure> {
        if tail.bytes > self.inner.sealer.bounds().hard_bytes {
            self.seal_within(&scope.app_id, chat_id).await?;
        }
        Ok(())
    }

    /// Looks at a chat after an update that matched nothing.
    ///
    /// Such an update waits for the majority like any other, and this reads what the majority has:
    /// what is found here can no longer be lost, so it may be answered with.
    pub(in crate::mongo::messages) async fn look(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Look, Failure> {
        let mut projection = Tail::projection();
        projection.insert("messages.event_id", 1);
        projection.insert("messages.digest", 1);
        let raw = self.session_within(scope, chat_id, projection).await?;
        let fields = open_chat_session(&raw)?;
        let tail = Tail::read(&fields)?;
        Ok(Look { tail, in_tail: known_messages(&fields, tail.first_sequence)? })
    }

    /// Looks for messages among what is sealed, after a look at the chat.
    ///
    /// Reads the ids of all that is sealed, if that spares enough of such looks to come.
    pub(in crate::mongo::messages) async fn look_below(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        ids: Vec<&str>,
        look: &Look,
    ) -> Result<Vec<Known>, Failure> {
        let sealed_below = look.tail.first_sequence;
        let remembered = &self.inner.event_ids;
        if remembered.recall(chat_id, &[]).below < sealed_below
            && remembered.is_worth_reading(chat_id, sealed_below)
        {
            let sealed = self.sealed_event_ids(scope, chat_id, sealed_below).await?;
            remembered.learn(chat_id, 0, sealed.iter().map(EventId::as_str));
        }
        let in_tail = look.in_tail.iter().map(|known| known.event_id.as_str());
        remembered.learn(chat_id, sealed_below, in_tail);
        let recall = remembered.recall(chat_id, &ids);
        if sealed_below == 0 || recall.below >= sealed_below && !recall.may_hold {
            return Ok(Vec::new());
        }
        self.known_in_segments(scope, chat_id, ids, sealed_below).await
    }

    /// Reads the ids of all messages sealed below a sequence, in order.
    async fn sealed_event_ids(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sealed_below: u64,
    ) -> Result<Vec<EventId>, Failure> {
        let filter = segments_between(scope, chat_id, 0..sealed_below);
        let projection = doc! { "messages.event_id": 1, "schema_version": 1 };
        let find = self.inner.chat_segments.find(filter).sort(doc! { "_id": 1 });
        let mut segments = find.projection(projection).await?;
        let mut ids: Vec<EventId> = Vec::new();
        while let Some(raw) = segments.try_next().await? {
            let (first_sequence, fields) = Segment::open(chat_id, &raw)?;
            if first_sequence != ids.len() as u64 {
                // An edit is splitting a segment just now; what was read so far is right.
                break;
            }
            for message in fields.documents("messages")? {
                ids.push(message?.parsed("event_id")?);
            }
        }
        Ok(ids)
    }

    /// Finds the messages sealed below a sequence that have one of the ids, and their neighbours.
    async fn known_in_segments(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        ids: Vec<&str>,
        sealed_below: u64,
    ) -> Result<Vec<Known>, Failure> {
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

/// Answers an append that has nothing to store, or must not; `None`: it is to be stored.
pub(in crate::mongo::messages) fn verdict(
    chat_id: &ChatId,
    plan: &Plan<'_>,
    tail: &Tail,
) -> Option<Result<Append, StoreError>> {
    if plan.fresh().next().is_none() {
        return Some(Ok(plan.answer(tail.last_sequence, tail.last_sequence)));
    }
    let (chat_id, status) = (chat_id.clone(), tail.status);
    status.is_ended().then_some(Err(StoreError::ChatEnded { chat_id, status }))
}
