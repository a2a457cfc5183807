//! Changing a message where it lies: in the tail or in a segment.

use bson::{DateTime, doc};
use records::{ChatId, Message, MessageEdit, Scope};

use super::read::segment_of;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    MESSAGE_OVERHEAD, Segment, StoredMessage, Tail, counter, open_chat_session, segment_document,
    segment_id,
};
use crate::mongo::failure::Failure;
use crate::mongo::scope::writable_chat;
use crate::mongo::sealing::{Interruption, encode};

/// A segment may grow by edits up to this size, in bytes, before it is split.
const SPLIT_BYTES: u64 = 1 << 20;

/// A message and where it lies.
pub(super) struct Found {
    pub(super) message: Message,
    stored: StoredMessage,
    place: Place,
}

enum Place {
    Tail(Tail),
    Segment(Segment),
}

impl MongoStore {
    pub(super) async fn edit_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
        edit: &MessageEdit,
    ) -> Result<Message, StoreError> {
        self.write(|_| async {
            loop {
                let found = self.find_message_once(scope, chat_id, sequence).await?;
                if found.message.deleted_at.is_some() {
                    let chat_id = chat_id.clone();
                    return Err(StoreError::MessageNotFound { chat_id, sequence }.into());
                }
                let mut changed = found.stored.clone();
                changed.message.body = edit.apply(&changed.message.body);
                changed.message.edited_at = Some(self.inner.clock.now());
                if self.put_back(scope, chat_id, found, &mut changed).await? {
                    return Ok(changed.message);
                }
            }
        })
        .await
    }

    pub(super) async fn bury_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError> {
        self.write(|_| async {
            loop {
                let found = self.find_message_once(scope, chat_id, sequence).await?;
                if found.message.deleted_at.is_some() {
                    return Ok(found.message);
                }
                let mut changed = found.stored.clone();
                changed.message.body = changed.message.body.tombstone();
                changed.message.deleted_at = Some(self.inner.clock.now());
                if self.put_back(scope, chat_id, found, &mut changed).await? {
                    return Ok(changed.message);
                }
            }
        })
        .await
    }

    pub(super) async fn find_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Found, StoreError> {
        self.read(|| async { self.find_message_once(scope, chat_id, sequence).await })
            .await
    }

    async fn find_message_once(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Found, Failure> {
        let mut projection = Tail::projection();
        projection.insert("messages", 1);
        let raw = self.session_once(scope, chat_id, projection).await?;
        let fields = open_chat_session(&raw)?;
        let tail = Tail::read(&fields)?;
        let (place, messages) = if sequence >= tail.first_sequence {
            (Place::Tail(tail), tail.messages(&fields)?)
        } else {
            let filter = segment_of(scope, chat_id, sequence);
            let find = self
                .inner
                .chat_segments
                .find_one(filter)
                .sort(doc! { "_id": -1 });
            let raw = find
                .await?
                .ok_or_else(|| fields.corrupt("first_sequence", None))?;
            let segment = Segment::read(chat_id, &raw)?;
            let messages = segment.messages.clone();
            (Place::Segment(segment), messages)
        };
        let stored = messages
            .into_iter()
            .find(|stored| stored.message.sequence == sequence);
        let not_found = || StoreError::MessageNotFound {
            chat_id: chat_id.clone(),
            sequence,
        };
        let stored = stored.ok_or_else(not_found)?;
        Ok(Found {
            message: stored.message.clone(),
            stored,
            place,
        })
    }

    /// Writes a changed message over the one that was found; tells whether it was still there.
    async fn put_back(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        found: Found,
        changed: &mut StoredMessage,
    ) -> Result<bool, Failure> {
        changed.bytes = (changed.message.body.check()? + MESSAGE_OVERHEAD) as u64;
        match found.place {
            Place::Tail(tail) => {
                self.put_back_in_tail(scope, chat_id, &tail, &found.stored, changed)
                    .await
            }
            Place::Segment(segment) => {
                self.put_back_in_segment(scope, chat_id, segment, changed)
                    .await
            }
        }
    }

    async fn put_back_in_tail(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        tail: &Tail,
        old: &StoredMessage,
        changed: &StoredMessage,
    ) -> Result<bool, Failure> {
        if tail.tail_bytes > self.inner.sealer.bounds().hard_bytes {
            self.seal(&scope.app_id, chat_id, Interruption::Never)
                .await?;
            return Ok(false);
        }
        let mut filter = writable_chat(scope, chat_id);
        filter.insert("first_sequence", counter(tail.first_sequence));
        filter.insert("revision", tail.revision);
        let index = changed.message.sequence - tail.first_sequence;
        let update = doc! {
            "$set": {
                format!("messages.{index}"): changed.document(),
                "last_updated_at": DateTime::from_chrono(self.inner.clock.now()),
            },
            "$inc": { "revision": 1_i64, "tail_bytes": counter(changed.bytes) - counter(old.bytes) },
        };
        let updated = self.inner.chat_sessions.update_one(filter, update).await?;
        Ok(updated.matched_count == 1)
    }

    async fn put_back_in_segment(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        mut segment: Segment,
        changed: &StoredMessage,
    ) -> Result<bool, Failure> {
        let index = usize::try_from(changed.message.sequence - segment.first_sequence);
        let index = index.unwrap_or(usize::MAX);
        segment.messages[index] = changed.clone();
        let fits = segment.bytes() <= SPLIT_BYTES || segment.messages.len() == 1;
        let is_written = if fits {
            let filter = doc! {
                "_id": segment_id(chat_id, segment.first_sequence),
                "app_id": scope.app_id.as_str(),
                "edits": segment.edits,
            };
            let update = doc! {
                "$set": { format!("messages.{index}"): changed.document() },
                "$inc": { "edits": 1_i64 },
            };
            self.inner
                .chat_segments
                .update_one(filter, update)
                .await?
                .matched_count
                == 1
        } else {
            self.split(scope, chat_id, segment, index).await?
        };
        if is_written {
            let now = DateTime::from_chrono(self.inner.clock.now());
            let touch = doc! { "$set": { "last_updated_at": now }, "$inc": { "revision": 1_i64 } };
            self.inner
                .chat_sessions
                .update_one(writable_chat(scope, chat_id), touch)
                .await?;
        }
        Ok(is_written)
    }

    /// Splits a segment that an edit has made too large: what lies before the message, the message,
    /// what lies after it. All at once, so that no reader misses a part for good.
    async fn split(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        segment: Segment,
        index: usize,
    ) -> Result<bool, Failure> {
        let Segment {
            first_sequence,
            mut messages,
            revision,
            edits,
        } = segment;
        let after = messages.split_off(index + 1);
        let message = messages.split_off(index);
        let mut pieces = Vec::new();
        let mut first = first_sequence;
        for messages in [messages, message, after] {
            let next = first + messages.len() as u64;
            if !messages.is_empty() {
                let edits = edits + 1;
                let piece = Segment {
                    first_sequence: first,
                    messages,
                    revision,
                    edits,
                };
                pieces.push(encode(&segment_document(&scope.app_id, chat_id, &piece))?);
            }
            first = next;
        }
        let segments = &self.inner.chat_segments;
        let old = doc! { "_id": segment_id(chat_id, first_sequence), "edits": edits };
        let mut session = self.inner.database.client().start_session().await?;
        session.start_transaction().await?;
        let deleted = segments.delete_one(old).session(&mut session).await?;
        if deleted.deleted_count == 0 {
            session.abort_transaction().await?;
            return Ok(false);
        }
        segments.insert_many(pieces).session(&mut session).await?;
        session.commit_transaction().await?;
        Ok(true)
    }
}
