//! The insertion of groups: all streams of a process share one insert at a time, and there is at most one each
//! [`INTERVAL`].

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bson::RawDocumentBuf;
use mongodb::error::{Error, ErrorKind};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

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
    document: RawDocumentBuf,
    reply: oneshot::Sender<Result<bool, Failure>>,
}

impl GroupBatcher {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the groups of the next insert; without any the task that inserts them ends.
    fn take(&self) -> Vec<Waiting> {
        let mut state = self.state();
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
    /// Inserts a group with the next insert. Returns `false` if there is a group with its number.
    pub(super) async fn insert_group(&self, document: RawDocumentBuf) -> Result<bool, Failure> {
        let (reply, answer) = oneshot::channel();
        let starts = {
            let mut state = self.inner.group_batcher.state();
            state.waiting.push(Waiting { document, reply });
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
        let (documents, replies): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|waiting| (waiting.document, waiting.reply)).unzip();
        let insert = async { self.inner.stream_groups.insert_many(documents).ordered(false).await };
        let inserted = timeout(self.inner.deadline, insert).await;
        let failed = match inserted {
            Ok(inserted) => inserted.err(),
            Err(late) => {
                for reply in replies {
                    // A caller that is gone needs no answer.
                    let _ = reply.send(Err(Failure::Unfinished(late.to_string().into())));
                }
                return;
            }
        };
        let duplicates = failed.as_ref().map(duplicates).unwrap_or_default();
        // A group that was not refused is stored then.
        let failed = failed.filter(|error| !failed_only_on_duplicates(error));
        if failed.is_none() {
            self.inner.metrics.streams.inserted(replies.len() - duplicates.len());
        }
        for (index, reply) in replies.into_iter().enumerate() {
            let is_duplicate = duplicates.contains(&index);
            let answer = match &failed {
                Some(error) if !is_duplicate => Err(Failure::Driver(error.clone())),
                _ => Ok(!is_duplicate),
            };
            let _ = reply.send(answer);
        }
    }
}

/// Returns the places of the documents that the server has refused because their keys exist.
fn duplicates(error: &Error) -> HashSet<usize> {
    let ErrorKind::InsertMany(insertion) = &*error.kind else { return HashSet::new() };
    let refused = insertion.write_errors.iter().flatten();
    refused.filter(|write| write.code == DUPLICATE_KEY).map(|write| write.index).collect()
}
