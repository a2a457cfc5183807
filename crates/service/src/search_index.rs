//! Keeps the search index up to date. Every process indexes the chats that it changes. One process at a time, the leader,
//! follows the changes of all chats by any process, and now and then looks for what was missed.
//!
//! Each process waits for a moment of its own, so that mostly one of them indexes a chat, and the leader finds it done. It does
//! no harm if several do.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::StreamExt as _;
use persistence::{Change, INDEX_LEASE, Interest, Store, StoreError};
use records::{ChatId, Clock as _, SystemClock};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::metrics::SearchIndexMetrics;
use crate::sweeps::report;

/// How many chats are indexed at a time.
const BATCH_SIZE: usize = 128;

/// How many changed chats are remembered. Beyond them, a pass over all chats finds those that have changed.
const MAX_PENDING: usize = 100_000;

/// How long a process waits after a change, in milliseconds.
const DELAY_MS: Range<u64> = 50..350;

/// How long it waits after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// How often the leader says that it still is, and how often the others try to be, in milliseconds.
const RENEWAL: Duration = Duration::from_secs(2);
const CANDIDACY_MS: Range<u64> = 2_000..4_000;

/// How long it may take until a change by another process is noticed.
const NOTICED_WITHIN: Duration = Duration::from_secs(1);

/// How long it is from one pass over the chats to the next, in milliseconds.
const PASS_MS: Range<u64> = 30_000..50_000;

/// What this process knows of the search index.
#[derive(Debug)]
pub(crate) struct SearchIndex {
    pub(crate) is_enabled: bool,
    pending: Mutex<Pending>,
    /// Whether every change is noticed, and what happened before was looked for.
    is_complete: AtomicBool,
    /// Whether changes are reported.
    is_following: AtomicBool,
    /// How often changes may have been missed.
    misses: AtomicU64,
    changed: Notify,
    missed: Notify,
    metrics: SearchIndexMetrics,
}

/// The changed chats that are not indexed yet, each with the time of its first change.
#[derive(Debug, Default)]
struct Pending {
    waiting: HashMap<ChatId, Instant>,
    /// The time of the oldest change of the chats that are being indexed.
    in_work_since: Option<Instant>,
}

impl SearchIndex {
    pub(crate) fn new(is_enabled: bool, metrics: SearchIndexMetrics) -> Self {
        Self {
            is_enabled,
            pending: Mutex::default(),
            is_complete: AtomicBool::new(false),
            is_following: AtomicBool::new(false),
            misses: AtomicU64::new(0),
            changed: Notify::new(),
            missed: Notify::new(),
            metrics,
        }
    }

    /// Returns how far the index is behind at most, if every change of an app before a time is known to be in it; `None` if
    /// nothing is known.
    pub(crate) fn behind(&self, indexed_to: Option<DateTime<Utc>>) -> Option<Duration> {
        let own = self.pending().behind();
        if self.is_complete.load(Ordering::Acquire) {
            return Some(own);
        }
        let since = |time: DateTime<Utc>| (SystemClock.now() - time).to_std().unwrap_or_default();
        indexed_to.map(since).map(|others| own.max(others))
    }

    /// Returns the time before which every change of all apps is in the index, as far as this process knows.
    fn indexed_to(&self) -> Option<DateTime<Utc>> {
        let is_complete = self.is_complete.load(Ordering::Acquire);
        is_complete.then(|| SystemClock.now() - self.pending().behind() - NOTICED_WITHIN)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, chats: impl IntoIterator<Item = (ChatId, Instant)>) {
        let mut pending = self.pending();
        for (chat_id, since) in chats {
            if pending.waiting.len() >= MAX_PENDING {
                pending.waiting.clear();
                self.miss();
            }
            let first = pending.waiting.entry(chat_id).or_insert(since);
            *first = since.min(*first);
        }
        self.metrics.set(pending.waiting.len(), pending.behind());
        self.changed.notify_one();
    }

    /// Records that changes may have been missed.
    fn miss(&self) {
        self.misses.fetch_add(1, Ordering::AcqRel);
        self.is_complete.store(false, Ordering::Release);
        self.missed.notify_one();
    }

    /// Takes the chats that have waited the longest.
    fn take(&self) -> Vec<(ChatId, Instant)> {
        let mut pending = self.pending();
        let mut waiting: Vec<_> = pending.waiting.iter().collect();
        // After an import there are many, and the followers of changes wait for the lock.
        if waiting.len() > BATCH_SIZE {
            waiting.select_nth_unstable_by_key(BATCH_SIZE, |(_, since)| **since);
            waiting.truncate(BATCH_SIZE);
        }
        waiting.sort_unstable_by_key(|(_, since)| **since);
        let oldest: Vec<_> = waiting.into_iter().map(|(id, at)| (id.clone(), *at)).collect();
        for (chat_id, _) in &oldest {
            pending.waiting.remove(chat_id);
        }
        pending.in_work_since = oldest.first().map(|(_, since)| *since);
        oldest
    }

    fn finish(&self) {
        let mut pending = self.pending();
        pending.in_work_since = None;
        self.metrics.set(pending.waiting.len(), pending.behind());
    }
}

impl Pending {
    fn behind(&self) -> Duration {
        let oldest = self.waiting.values().min().copied();
        let oldest = oldest.into_iter().chain(self.in_work_since).min();
        oldest.map(|since| since.elapsed()).unwrap_or_default()
    }
}

/// Keeps the search index of a store up to date.
#[derive(Debug)]
pub(crate) struct SearchIndexer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) index: Arc<SearchIndex>,
}

impl SearchIndexer {
    /// Indexes what has changed until the future is dropped, unless the search is off. It may be dropped at any time.
    pub(crate) async fn run(self) {
        if self.index.is_enabled {
            tokio::join!(self.note_own(), self.index_changed(), self.lead());
        }
    }

    /// Notes the chats that this process changes.
    async fn note_own(&self) {
        let mut changes = self.store.changes(Interest::in_listed_chats());
        while let Some(change) = changes.next().await {
            self.note(change);
        }
    }

    fn note(&self, change: Change) {
        if let Change::Chat(change) = change {
            self.index.note([(change.chat_id, Instant::now())]);
        }
    }

    /// Is the leader whenever no other process is.
    async fn lead(&self) {
        let process = format!("{:032x}", fastrand::u128(..));
        loop {
            if self.is_leader(&process).await == Some(true) {
                tokio::select! {
                    () = self.stay_leader(&process) => {}
                    () = async { tokio::join!(self.follow(), self.look_for_missed()); } => {}
                }
                self.index.is_following.store(false, Ordering::Release);
                self.index.miss();
            }
            sleep(Duration::from_millis(fastrand::u64(CANDIDACY_MS))).await;
        }
    }

    /// Waits until another process is the leader, or may be.
    async fn stay_leader(&self, process: &str) {
        let mut renewed = Instant::now();
        while renewed.elapsed() < INDEX_LEASE {
            sleep(RENEWAL).await;
            match self.is_leader(process).await {
                Some(true) => renewed = Instant::now(),
                Some(false) => return,
                None => {}
            }
        }
    }

    /// Makes this process the leader, or lets it stay that; `None` if that is not known.
    async fn is_leader(&self, process: &str) -> Option<bool> {
        let led = self.store.lead_index(process, self.index.indexed_to()).await;
        led.inspect_err(|error| tracing::debug!(%error, "failed to lead the search index")).ok()
    }

    /// Notes the chats that any process changes.
    async fn follow(&self) {
        let mut changes = self.store.changes(Interest::in_all_chats());
        while let Some(change) = changes.next().await {
            if matches!(change, Change::Began | Change::Lost) {
                let is_following = matches!(change, Change::Began);
                self.index.is_following.store(is_following, Ordering::Release);
                self.index.miss();
            }
            self.note(change);
        }
    }

    async fn index_changed(&self) {
        loop {
            self.index.changed.notified().await;
            loop {
                sleep(Duration::from_millis(fastrand::u64(DELAY_MS))).await;
                let chats = self.index.take();
                if chats.is_empty() {
                    break;
                }
                let ids: Vec<ChatId> = chats.iter().map(|(chat_id, _)| chat_id.clone()).collect();
                let unfinished = self.store.index_chats(&ids).await;
                let is_failed = unfinished.is_err();
                match unfinished {
                    Ok(unfinished) => {
                        self.index
                            .note(chats.into_iter().filter(|(id, _)| unfinished.contains(id)));
                    }
                    Err(error) => {
                        report(&error, "failed to index chats for the search");
                        self.index.note(chats);
                    }
                }
                self.index.finish();
                if is_failed {
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn look_for_missed(&self) {
        loop {
            let is_following = self.index.is_following.load(Ordering::Acquire);
            let misses = self.index.misses.load(Ordering::Acquire);
            match self.pass().await {
                Ok(()) => {
                    let is_missed = self.index.misses.load(Ordering::Acquire) != misses;
                    let is_complete = is_following && !is_missed;
                    self.index.is_complete.store(is_complete, Ordering::Release);
                }
                Err(error) => report(&error, "failed to look for what the search index lacks"),
            }
            let pause = Duration::from_millis(fastrand::u64(PASS_MS));
            let _ = timeout(pause, self.index.missed.notified()).await;
            sleep(PAUSE).await;
        }
    }

    /// Goes through the changed chats of all apps.
    async fn pass(&self) -> Result<(), StoreError> {
        let mut app_id = None;
        while let Some(next) = self.store.next_app_with_chats(app_id.as_ref()).await? {
            let mut after = None;
            loop {
                after = self.store.catch_up_index(&next, after.as_ref(), BATCH_SIZE).await?;
                if after.is_none() {
                    break;
                }
            }
            app_id = Some(next);
        }
        Ok(())
    }
}
