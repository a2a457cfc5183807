//! Sealing: moves the older part of a tail into a segment.
//!
//! There are two writes in this order: the segment is inserted, then the tail is cut. So every message
//! is in at least one place at all times, without a transaction. Readers use segments only below the
//! session's `first_sequence`, so the segment becomes visible with the cut. If a sealer stops between
//! the writes, no reader uses the segment, and the next sealing continues with it. Sealers of several
//! processes may race, and messages may be edited meanwhile, so the cut is conditional on the state
//! that the segment was made from.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bson::{Bson, Document, doc};
use records::{AppId, ChatId};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    Segment, SegmentHead, Tail, counter, open_chat_session, segment_document, segment_id,
    segments_filter,
};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::engine::scope::chat_filter;

/// When messages are moved out of the session document, and how many (decision 0002).
#[derive(Debug, Clone, Copy)]
pub struct SealingBounds {
    /// A tail of more messages than this is sealed after the append that exceeds it.
    pub tail_messages: u64,
    /// A tail larger than this, in bytes, is sealed after the append that exceeds it.
    pub tail_bytes: u64,
    /// An append that finds a tail larger than this, in bytes, seals it first.
    pub hard_bytes: u64,
    /// The most of the newest messages that stay in the tail, so that readers of the newest messages
    /// need no second document.
    pub keep_messages: usize,
    /// The most bytes of these messages.
    pub keep_bytes: u64,
    /// The largest segment made of more than one message, in bytes.
    pub segment_bytes: u64,
    /// Whether appends start a sealing themselves.
    pub is_automatic: bool,
}

impl Default for SealingBounds {
    fn default() -> Self {
        Self {
            tail_messages: 96,
            tail_bytes: 128 << 10,
            hard_bytes: 512 << 10,
            keep_messages: 50,
            keep_bytes: 64 << 10,
            segment_bytes: 512 << 10,
            is_automatic: true,
        }
    }
}

impl SealingBounds {
    /// Returns whether a tail of this many messages and bytes is within its bound.
    pub(crate) fn admit(&self, messages: u64, bytes: u64) -> bool {
        messages <= self.tail_messages && bytes <= self.tail_bytes
    }
}

/// Where a sealing is interrupted, for tests of what a crash leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// It is not interrupted.
    Never,
    /// After the segment was inserted, before the tail is cut.
    AfterSegment,
    /// After the first segment of a sealing that makes several.
    AfterFirstCut,
}

/// What a sealing does not move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SealingTarget {
    /// Anything, if the tail is within its bound; otherwise the newest messages.
    Bound,
    /// Only the newest messages.
    Newest,
}

/// The bounds, and the chats that this process is sealing in the background.
#[derive(Debug)]
pub(crate) struct Sealer {
    bounds: SealingBounds,
    busy: Mutex<HashSet<ChatId>>,
}

impl Sealer {
    pub(crate) fn new(bounds: SealingBounds) -> Self {
        Self { bounds, busy: Mutex::default() }
    }

    pub(crate) fn bounds(&self) -> &SealingBounds {
        &self.bounds
    }

    fn begin(self: &Arc<Self>, chat_id: &ChatId) -> Option<SealingGuard> {
        let is_new = self.busy().insert(chat_id.clone());
        is_new.then(|| SealingGuard { sealer: Arc::clone(self), chat_id: chat_id.clone() })
    }

    fn busy(&self) -> MutexGuard<'_, HashSet<ChatId>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The duty to seal a chat in the background; one task of this process has it at a time.
///
/// It ends when this is dropped, so a sealing that panics does not block later ones.
#[derive(Debug)]
struct SealingGuard {
    sealer: Arc<Sealer>,
    chat_id: ChatId,
}

impl Drop for SealingGuard {
    fn drop(&mut self) {
        self.sealer.busy().remove(&self.chat_id);
    }
}

impl MongoStore {
    /// Starts to seal a chat in the background, if its tail has exceeded its bound and no task of this
    /// process is sealing it.
    pub(crate) fn seal_soon(&self, app_id: &AppId, chat_id: &ChatId, tail: &Tail) {
        let sealer = &self.inner.sealer;
        let is_due = sealer.bounds.is_automatic && !sealer.bounds.admit(tail.len(), tail.bytes);
        if !is_due {
            return;
        }
        let Some(busy) = sealer.begin(chat_id) else { return };
        let (store, app_id, chat_id) = (self.clone(), app_id.clone(), chat_id.clone());
        self.spawn(async move {
            let start = Instant::now();
            let seal = |_| store.seal_down_to_bound(&app_id, &chat_id);
            let sealing = store.write_until(store.deadline(), seal).await;
            store.inner.metrics.sealing.ended(start, sealing.is_ok());
            if let Err(error) = sealing {
                // The tail stays too long until the next append starts another sealing.
                tracing::warn!(%error, %chat_id, "failed to seal the tail");
            }
            drop(busy);
        });
    }

    /// Seals the tail of a chat except its newest messages.
    ///
    /// Appends start this themselves. A call is never needed and always safe.
    pub async fn seal(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        interruption: Interruption,
    ) -> Result<(), StoreError> {
        self.write_until(self.deadline(), |_| async {
            match interruption {
                Interruption::Never => self.seal_within(app_id, chat_id).await,
                _ => self
                    .seal_once(app_id, chat_id, SealingTarget::Newest, interruption)
                    .await
                    .map(|_| ()),
            }
        })
        .await
    }

    /// Seals until the tail is within its bound.
    ///
    /// It does not continue until only the newest messages are left: behind a steady writer, there would
    /// always be one or two more to seal, and as many tiny segments.
    async fn seal_down_to_bound(&self, app_id: &AppId, chat_id: &ChatId) -> Result<(), Failure> {
        let once = || self.seal_once(app_id, chat_id, SealingTarget::Bound, Interruption::Never);
        while let Some(left) = once().await? {
            if self.inner.sealer.bounds.admit(left.len(), left.bytes) {
                break;
            }
        }
        Ok(())
    }

    /// Seals the tail of a chat except its newest messages, within the attempt of another call.
    pub(crate) async fn seal_within(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<(), Failure> {
        let once = || self.seal_once(app_id, chat_id, SealingTarget::Newest, Interruption::Never);
        while once().await?.is_some() {}
        Ok(())
    }

    /// Seals one segment and returns the tail that this should leave, or the one that was read if it has changed meanwhile; `None` if
    /// there is nothing to seal.
    async fn seal_once(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        goal: SealingTarget,
        interruption: Interruption,
    ) -> Result<Option<Tail>, Failure> {
        let sessions = &self.inner.chat_sessions;
        let session = chat_filter(app_id, chat_id);
        let Some(raw) =
            sessions.find_one(session.clone()).projection(Tail::with_messages()).await?
        else {
            return Ok(None);
        };
        let fields = open_chat_session(&raw)?;
        let tail = Tail::read(&fields)?;
        if goal == SealingTarget::Bound && self.inner.sealer.bounds.admit(tail.len(), tail.bytes) {
            return Ok(None);
        }
        let mut messages = fields.documents("messages")?.collect::<Result<Vec<_>, _>>()?;
        self.inner.sealer.bounds.keep_newest_in_tail(&mut messages)?;
        self.inner.sealer.bounds.cut_to_segment(&mut messages)?;
        let Some(sealed) = self.insert_segment(app_id, chat_id, &tail, &messages).await? else {
            return Ok(None);
        };
        if interruption != Interruption::AfterSegment {
            let cut = sessions.update_one(condition(session, &tail), cut(sealed)).await?;
            self.inner.chat_cache.tail_was_cut(chat_id);
            if cut.matched_count == 0 {
                self.remove_void_copies(app_id, chat_id).await?;
                return Ok(Some(tail));
            }
            self.inner.metrics.sealing.sealed();
        }
        let (first_sequence, bytes) =
            (tail.first_sequence + sealed.messages, tail.bytes.saturating_sub(sealed.bytes));
        Ok(Some(Tail { first_sequence, bytes, ..tail }))
    }

    /// Removes the copies of messages of the tail that were made before the newest edit. No sealing can use them any more, and they have
    /// the texts that were edited or deleted since.
    ///
    /// A copy comes into use only while the session has the revision that it was made from, and a revision never comes back. One of
    /// the same revision may be about to be used.
    pub(crate) async fn remove_void_copies(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<(), Failure> {
        let session = self.inner.chat_sessions.find_one(chat_filter(app_id, chat_id));
        let Some(raw) = session.projection(Tail::projection()).await? else { return Ok(()) };
        let tail = Tail::read(&open_chat_session(&raw)?)?;
        let mut void = segments_filter(app_id, chat_id, tail.first_sequence..u64::MAX);
        void.insert("append_base", Bson::Null);
        void.insert("revision", doc! { "$lt": tail.revision });
        self.inner.chat_segments.delete_many(void).await?;
        Ok(())
    }

    /// Inserts the segment that begins with the tail's first message, or adopts the one that an unfinished
    /// sealing has left.
    ///
    /// Returns what may be cut from the tail: nothing if the chat has changed and must be read again.
    /// `None` if there is nothing to seal now.
    async fn insert_segment(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        tail: &Tail,
        messages: &[Fields<'_>],
    ) -> Result<Option<Sealed>, Failure> {
        if messages.is_empty() {
            return Ok(None);
        }
        let segments = &self.inner.chat_segments;
        let (first_sequence, revision) = (tail.first_sequence, tail.revision);
        let head = SegmentHead { first_sequence, revision, edits: 0, append_base: None };
        // The messages are copied as they are stored; only their sizes are read.
        let raw = messages.iter().map(Fields::raw);
        let segment = segment_document(app_id, chat_id, &head, raw);
        let ours = Sealed::of(messages.iter().map(|fields| fields.count("bytes")))?;
        match segments.insert_one(&segment).await {
            Ok(_) => return Ok(Some(ours)),
            Err(error) if is_duplicate_key(&error) => {}
            Err(error) => return Err(error.into()),
        }
        let id = segment_id(chat_id, first_sequence);
        let Some(found) = segments.find_one(doc! { "_id": id.clone() }).await? else {
            return Ok(Some(Sealed::default()));
        };
        let found = Segment::read(chat_id, &found)?;
        let (base, copied) = (found.head.append_base, found.head.revision);
        let is_late = base.is_some_and(|base| base < tail.last_sequence);
        if copied < revision || is_late {
            // The segment was copied before an edit, or for an append that came too late, so it may be
            // replaced. A segment in use never is: it has the session's revision and counter of the
            // moment when it came into use, and no view with this first sequence is newer than that.
            let stale = doc! { "_id": id, "revision": copied, "append_base": base.map(counter) };
            let replaced = segments.replace_one(stale, &segment).await?;
            return Ok(Some(if replaced.matched_count == 1 { ours } else { Sealed::default() }));
        }
        if base.is_some() {
            // The append that made it may be about to use it. If it does not, the next append or edit
            // makes the segment replaceable.
            return Ok(None);
        }
        if copied == revision {
            // Its messages have not changed since they were copied, so it can be used as it is.
            return Ok(Some(Sealed::of(found.messages.iter().map(|stored| Ok(stored.bytes)))?));
        }
        Ok(Some(Sealed::default()))
    }
}

/// The number and size of the messages to cut from the tail.
#[derive(Debug, Clone, Copy, Default)]
struct Sealed {
    messages: u64,
    bytes: u64,
}

impl Sealed {
    fn of(bytes: impl Iterator<Item = Result<u64, StoreError>>) -> Result<Self, StoreError> {
        let mut sealed = Self::default();
        for bytes in bytes {
            sealed.messages += 1;
            sealed.bytes += bytes?;
        }
        Ok(sealed)
    }
}

impl SealingBounds {
    /// Removes the newest messages, which stay in the tail, from the messages to seal.
    fn keep_newest_in_tail(&self, messages: &mut Vec<Fields<'_>>) -> Result<(), StoreError> {
        let newest = messages.iter().rev().take(self.keep_messages);
        let staying = within_bytes(newest, self.keep_bytes)?;
        messages.truncate(messages.len() - staying);
        Ok(())
    }

    /// Keeps as many of the oldest messages as fit into one segment, and at least one.
    fn cut_to_segment(&self, messages: &mut Vec<Fields<'_>>) -> Result<(), StoreError> {
        let fitting = within_bytes(messages.iter(), self.segment_bytes)?;
        messages.truncate(fitting.max(1));
        Ok(())
    }
}

/// Returns how many messages, from the first on, have at most this many bytes together.
fn within_bytes<'m, 'a: 'm>(
    messages: impl Iterator<Item = &'m Fields<'a>>,
    most_bytes: u64,
) -> Result<usize, StoreError> {
    let mut bytes = 0;
    let mut count = 0;
    for message in messages {
        bytes += message.count("bytes")?;
        if bytes > most_bytes {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// Returns the filter for a session that is still in the state that the segment was copied from.
///
/// Every sealing changes `first_sequence`, and every edit changes `revision`. Appends only add messages
/// at the end, so they do not matter.
fn condition(mut session: Document, tail: &Tail) -> Document {
    session.insert("first_sequence", counter(tail.first_sequence));
    session.insert("revision", tail.revision);
    session
}

/// Returns the update that cuts the oldest messages. It counts from the front, so messages that were
/// appended meanwhile stay.
///
/// It is a pipeline, because no other operator removes a number of elements from the front of an array.
/// It contains only names of our own fields.
fn cut(sealed: Sealed) -> Vec<Document> {
    let (count, bytes) = (counter(sealed.messages), counter(sealed.bytes));
    vec![doc! { "$set": {
        "messages": { "$slice": ["$messages", count, i64::from(i32::MAX)] },
        "first_sequence": { "$add": ["$first_sequence", count] },
        "tail_bytes": { "$subtract": ["$tail_bytes", bytes] },
    } }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sealing_that_panics_can_begin_again() {
        let sealer = Arc::new(Sealer::new(SealingBounds::default()));
        let chat_id = ChatId::parse("chat_1").unwrap();
        let busy = sealer.begin(&chat_id).unwrap();
        assert!(sealer.begin(&chat_id).is_none());
        let task = tokio::spawn(async move {
            let _busy = busy;
            panic!("as planned");
        });
        assert!(task.await.unwrap_err().is_panic());
        assert!(sealer.begin(&chat_id).is_some());
    }
}
