//! The insertion of groups: all streams of a process share one insert at a time, and there is at most one each
//! [`INTERVAL`].
//!
//! What another process has removed of a stream makes numbers free again, so a group could be added to a stream that is gone.
//! Therefore each insert is followed by one read of its streams, and a group without one is removed before its writer is answered.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bson::{Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::error::{Error, ErrorKind};
use records::{ChatId, StreamId};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use super::document::{IS_REMOVED, id_of_stream};
use crate::mongo::MongoStore;
use crate::mongo::engine::failure::{DUPLICATE_KEY, Failure, failed_only_on_duplicates};

/// The shortest time between the beginnings of two inserts. The first after a pause is sent at once.
const INTERVAL: Duration = Duration::from_millis(100);

/// The most groups of one insert.
const MAX_GROUPS: usize = 1_000;

/// The size at which an insert takes no further group, in bytes.
const MAX_BYTES: usize = 8 << 20;

/// The groups that wait for the next insert.
#[derive(Debug, Default)]
pub(crate) struct GroupBatcher(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    is_running: bool,
}

#[derive(Debug)]
struct Waiting {
    chat_id: ChatId,
    stream_id: StreamId,
    document: RawDocumentBuf,
    reply: oneshot::Sender<Result<Inserted, Failure>>,
}

/// What became of a group that was to be inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    Stored,
    /// There is a group with its number.
    NumberTaken,
    /// Its stream has been removed, and so has the group.
    StreamGone,
}

impl GroupBatcher {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the groups of the next insert; without any the task that inserts them ends.
    fn take(&self) -> Vec<Waiting> {
        let mut state = self.state();
        // Their callers were told that nothing was added.
        state.waiting.retain(|waiting| !waiting.reply.is_closed());
        let mut bytes = 0;
        let fits = |waiting: &&Waiting| {
            let has_room = bytes < MAX_BYTES;
            bytes += waiting.document.as_bytes().len();
            has_room
        };
        let count = state.waiting.iter().take(MAX_GROUPS).take_while(fits).count();
        state.is_running = count > 0;
        state.waiting.drain(..count).collect()
    }
}

impl MongoStore {
    /// Inserts a group of a stream with the next insert.
    pub(super) async fn insert_group(
        &self,
        (chat_id, stream_id): (&ChatId, &StreamId),
        document: RawDocumentBuf,
    ) -> Result<Inserted, Failure> {
        let (reply, answer) = oneshot::channel();
        let starts = {
            let mut state = self.inner.group_batcher.state();
            let (chat_id, stream_id) = (chat_id.clone(), stream_id.clone());
            state.waiting.push(Waiting { chat_id, stream_id, document, reply });
            !std::mem::replace(&mut state.is_running, true)
        };
        if starts {
            let store = self.clone();
            self.spawn(async move { store.insert_groups().await });
        }
        answer.await.unwrap_or_else(|gone| Err(Failure::Unfinished(gone.into())))
    }

    async fn insert_groups(&self) {
        loop {
            let batch = self.inner.group_batcher.take();
            if batch.is_empty() {
                return;
            }
            let started = Instant::now();
            self.insert_batch(batch).await;
            // A backlog goes on at once.
            if self.inner.group_batcher.state().waiting.len() < MAX_GROUPS {
                sleep_until(started + INTERVAL).await;
            }
        }
    }

    async fn insert_batch(&self, batch: Vec<Waiting>) {
        let answers = match timeout(self.inner.deadline, self.insert_checked(&batch)).await {
            Ok(answers) => answers,
            Err(late) => {
                let unfinished = || Err(Failure::Unfinished(late.to_string().into()));
                batch.iter().map(|_| unfinished()).collect()
            }
        };
        let is_stored = |answer: &&_| matches!(answer, Ok(Inserted::Stored));
        self.inner.metrics.streams.inserted(answers.iter().filter(is_stored).count());
        for (waiting, answer) in batch.into_iter().zip(answers) {
            // A caller that is gone needs no answer.
            let _ = waiting.reply.send(answer);
        }
    }

    /// Inserts groups, and removes those again whose streams are gone. Returns what became of each.
    async fn insert_checked(&self, batch: &[Waiting]) -> Vec<Result<Inserted, Failure>> {
        let documents = batch.iter().map(|waiting| &waiting.document);
        let failed = self.inner.stream_groups.insert_many(documents).ordered(false).await.err();
        let taken = failed.as_ref().map(duplicates).unwrap_or_default();
        // A group that was not refused is stored then.
        let gone = match failed.filter(|error| !failed_only_on_duplicates(error)) {
            None => self.remove_of_gone_streams(batch, &taken).await,
            Some(error) => Err(error),
        };
        let answer = |place| match &gone {
            _ if taken.contains(&place) => Ok(Inserted::NumberTaken),
            Err(error) => Err(Failure::Driver(error.clone())),
            Ok(gone) if gone.contains(&place) => Ok(Inserted::StreamGone),
            Ok(_) => Ok(Inserted::Stored),
        };
        (0..batch.len()).map(answer).collect()
    }

    /// Removes groups that were inserted although their streams are gone. Returns their places.
    async fn remove_of_gone_streams(
        &self,
        batch: &[Waiting],
        taken: &HashSet<usize>,
    ) -> Result<HashSet<usize>, Error> {
        let ids = batch.iter().map(|waiting| id_of_stream(&waiting.chat_id, &waiting.stream_id));
        let filter =
            doc! { "_id": { "$in": ids.collect::<Vec<_>>() }, IS_REMOVED: { "$ne": true } };
        let find = self.inner.streams.find(filter).projection(doc! { "_id": 1 });
        let found: Vec<_> = find.await?.try_collect().await?;
        let present: HashSet<_> = found.iter().filter_map(|raw| key_of(raw)).collect();
        let is_gone = |(place, waiting): &(usize, &Waiting)| {
            let key = (waiting.chat_id.as_str(), waiting.stream_id.as_str());
            !taken.contains(place) && !present.contains(&key)
        };
        let gone: Vec<_> = batch.iter().enumerate().filter(is_gone).collect();
        if !gone.is_empty() {
            let ids = gone.iter().map(|(_, waiting)| id_of(&waiting.document));
            let ids = ids.collect::<bson::error::Result<Vec<_>>>()?;
            self.inner.stream_groups.delete_many(doc! { "_id": { "$in": ids } }).await?;
        }
        Ok(gone.into_iter().map(|(place, _)| place).collect())
    }
}

/// Returns the ids of the chat and of the stream in a stored stream.
fn key_of(raw: &RawDocumentBuf) -> Option<(&str, &str)> {
    let id = raw.get_document("_id").ok()?;
    Some((id.get_str("chat_id").ok()?, id.get_str("stream_id").ok()?))
}

fn id_of(raw: &RawDocumentBuf) -> bson::error::Result<Document> {
    raw.get_document("_id")?.try_into()
}

/// Returns the places of the documents that the server has refused because their keys exist.
fn duplicates(error: &Error) -> HashSet<usize> {
    let ErrorKind::InsertMany(insertion) = &*error.kind else { return HashSet::new() };
    let refused = insertion.write_errors.iter().flatten();
    refused.filter(|write| write.code == DUPLICATE_KEY).map(|write| write.index).collect()
}
