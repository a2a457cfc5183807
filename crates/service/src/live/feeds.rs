use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use persistence::{ChatChange, ChatHead, Interest, StreamChange};
use records::{AppId, ChatId, Scope, UserId};
use tokio::task::AbortHandle;

use super::feed::Feed;
use crate::admission::{Share, Shares};
use crate::config::LimitsConfig;
use crate::problem::{Problem, ProblemKind};

/// When a client may try again that the subscriber limits have refused.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// The feeds of this process: one for each chat that has subscribers.
#[derive(Debug)]
pub(super) struct Feeds {
    state: Mutex<State>,
    /// The chats that have feeds.
    interest: Interest,
}

#[derive(Debug, Default)]
struct State {
    chats: HashMap<ChatId, FeedEntry>,
    subscribers: usize,
    /// The task that wakes the feeds; it runs while there are any.
    watcher: Option<AbortHandle>,
}

#[derive(Debug)]
struct FeedEntry {
    feed: Arc<Feed>,
    task: AbortHandle,
    subscribers: usize,
}

impl Default for Feeds {
    fn default() -> Self {
        Self { state: Mutex::default(), interest: Interest::in_listed_chats() }
    }
}

impl Feeds {
    /// Returns the chats that have feeds, as they are from now on.
    pub(super) fn interest(&self) -> Interest {
        self.interest.clone()
    }

    /// Admits a subscriber to a chat, unless the chat or the process has as many as it may have.
    ///
    /// The first subscriber of a chat starts its feed, which `open_feed` creates; the first of the process
    /// starts the task that wakes feeds, with `start_watcher`.
    pub(super) fn admit(
        self: &Arc<Self>,
        chat_id: &ChatId,
        limits: &LimitsConfig,
        shares: StreamShares,
        open_feed: impl FnOnce() -> Feed,
        start_watcher: impl FnOnce() -> AbortHandle,
    ) -> Result<SubscriberPermit, Problem> {
        let mut state = self.state();
        if state.subscribers >= limits.subscribers {
            return Err(too_many_subscribers("the service process", limits.subscribers));
        }
        let entry = state.chats.entry(chat_id.clone()).or_insert_with(|| {
            self.interest.add(chat_id);
            let feed = Arc::new(open_feed());
            let task = tokio::spawn(Arc::clone(&feed).run()).abort_handle();
            FeedEntry { feed, task, subscribers: 0 }
        });
        if entry.subscribers >= limits.subscribers_per_chat {
            return Err(too_many_subscribers("the chat", limits.subscribers_per_chat));
        }
        entry.subscribers += 1;
        let feed = Arc::clone(&entry.feed);
        state.subscribers += 1;
        state.watcher.get_or_insert_with(start_watcher);
        Ok(SubscriberPermit { feeds: Arc::clone(self), feed, _shares: shares })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, and the counts would be right even then.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_feed(&self, chat_id: &ChatId, wake: impl FnOnce(&Feed)) {
        // The lock is released before the feed is woken: `Feed` takes a lock of its own.
        let feed = self.state().chats.get(chat_id).map(|entry| Arc::clone(&entry.feed));
        if let Some(feed) = feed {
            wake(&feed);
        }
    }

    /// Wakes the feed of a chat that has changed, if it has subscribers.
    pub(super) fn chat_changed(&self, change: &ChatChange) {
        self.with_feed(&change.chat_id, |feed| {
            feed.take(&change.appended);
            feed.chat_changed(change.last_sequence);
        });
    }

    /// Makes the feed of a chat read everything, if it has subscribers.
    pub(super) fn all_changed(&self, chat_id: &ChatId) {
        self.with_feed(chat_id, |feed| {
            feed.chat_changed(None);
            feed.all_states_changed();
        });
    }

    /// Makes the feed of a chat read who is present, if it has subscribers.
    pub(super) fn presence_changed(&self, chat_id: &ChatId) {
        self.with_feed(chat_id, |feed| feed.states().presence_changed());
    }

    /// Makes the feed of a chat read what its calls used, if it has subscribers.
    pub(super) fn usage_changed(&self, chat_id: &ChatId) {
        self.with_feed(chat_id, |feed| feed.states().usage_changed());
    }

    /// Takes a write of a stream of a chat, if it has subscribers.
    pub(super) fn stream_changed(&self, change: &StreamChange) {
        self.with_feed(&change.chat_id, |feed| feed.stream_changed(change));
    }

    /// Makes all feeds read the states without a sequence, and the streams.
    pub(super) fn all_states_changed(&self) {
        for entry in self.state().chats.values() {
            entry.feed.all_states_changed();
        }
    }

    /// Wakes the feed of a chat if a polled head is newer than the one it knows.
    pub(super) fn head_polled(&self, head: &ChatHead) {
        self.with_feed(&head.chat_id, |feed| feed.head_polled(head));
    }

    /// Returns the chats that have subscribers, grouped by app.
    pub(super) fn by_app(&self) -> Vec<(Scope, Vec<ChatId>)> {
        let mut by_app: HashMap<AppId, Vec<ChatId>> = HashMap::new();
        for (chat_id, entry) in &self.state().chats {
            by_app.entry(entry.feed.app_id().clone()).or_default().push(chat_id.clone());
        }
        by_app.into_iter().map(|(app_id, chats)| (Scope::service(app_id), chats)).collect()
    }
}

/// What a stream counts for: its person, if any, and its app.
#[derive(Debug)]
pub(super) struct StreamShares {
    _user: Option<Share<UserId>>,
    _app: Share<AppId>,
}

/// The streams that persons and apps may have.
#[derive(Debug)]
pub(super) struct StreamQuotas {
    users: Arc<Shares<UserId>>,
    apps: Arc<Shares<AppId>>,
}

impl StreamQuotas {
    pub(super) fn new(limits: &LimitsConfig) -> Self {
        let users = Arc::new(Shares::new(limits.streams_per_user));
        Self { users, apps: Arc::new(Shares::new(limits.streams_per_app)) }
    }

    /// Counts a stream, unless its person or app has as many as it may have.
    pub(super) fn take(&self, scope: &Scope) -> Result<StreamShares, Problem> {
        let used_up = |holder: &str| {
            let detail =
                format!("{holder} has as many live streams as it may have; close one first");
            Problem::new(ProblemKind::TOO_MANY_REQUESTS, detail).with_retry_after(RETRY_AFTER)
        };
        let user = scope
            .caller
            .person()
            .map(|user_id| self.users.try_take(user_id, 1).ok_or_else(|| used_up("the user")));
        let app = self.apps.try_take(&scope.app_id, 1);
        let app = app.ok_or_else(|| used_up("the app"))?;
        Ok(StreamShares { _user: user.transpose()?, _app: app })
    }
}

pub(super) fn too_many_subscribers(holder: &str, limit: usize) -> Problem {
    let seconds = RETRY_AFTER.as_secs();
    let detail =
        format!("{holder} has reached its limit of {limit} subscribers; retry after {seconds} s");
    Problem::new(ProblemKind::TOO_MANY_SUBSCRIBERS, detail).with_retry_after(RETRY_AFTER)
}

/// The right of one subscriber to use the feed of a chat; dropping it gives the right back.
#[derive(Debug)]
pub(super) struct SubscriberPermit {
    feeds: Arc<Feeds>,
    pub(super) feed: Arc<Feed>,
    _shares: StreamShares,
}

impl Drop for SubscriberPermit {
    fn drop(&mut self) {
        let mut state = self.feeds.state();
        state.subscribers -= 1;
        let Some(entry) = state.chats.get_mut(self.feed.chat_id()) else { return };
        entry.subscribers -= 1;
        if entry.subscribers == 0 {
            // A chat without subscribers costs nothing: no task, no memory, no polling.
            entry.task.abort();
            state.chats.remove(self.feed.chat_id());
            self.feeds.interest.remove(self.feed.chat_id());
        }
        if state.chats.is_empty()
            && let Some(watcher) = state.watcher.take()
        {
            watcher.abort();
        }
    }
}
