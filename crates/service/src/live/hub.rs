use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use persistence::{ChatChange, ChatHead, Store, StoreError};
use records::{AppId, ChatId, Clock as _, InputRequest, InputRequestId, Scope, SystemClock};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::ends::{End, Ends};
use super::feed::Feed;
use super::presence::{Announced, Announcer};
use super::watch::watch;
use super::window::Window;
use super::{Position, Subscription};
use crate::auth::unauthenticated;
use crate::config::Limits;
use crate::problem::{Problem, ProblemKind};

/// How many subscriptions read from the store at a time; further ones wait for their turn.
const READERS: usize = 16;

/// The chats of this process that somebody listens to.
///
/// A chat that nobody listens to is not known here, and while nobody listens to any there is nothing.
#[derive(Debug)]
pub(crate) struct Hub {
    store: Arc<dyn Store>,
    limits: Arc<Limits>,
    feeds: Arc<Feeds>,
    readers: Arc<Semaphore>,
    announcer: Arc<Announcer>,
}

impl Hub {
    pub(crate) fn new(store: Arc<dyn Store>, limits: Arc<Limits>) -> Self {
        let (feeds, readers) = (Arc::default(), Arc::new(Semaphore::new(READERS)));
        let announcer = Arc::new(Announcer::new(Arc::clone(&store), limits.presence_expiry()));
        Self { store, limits, feeds, readers, announcer }
    }

    /// Announces a person who listens as present, for as long as what is returned is held; `None` for a
    /// service, which nobody sees.
    pub(crate) fn announce(&self, scope: &Scope, chat_id: &ChatId) -> Option<Announced> {
        self.announcer.enter(scope, chat_id)
    }

    /// Listens to a chat, from where a caller is who may see it.
    ///
    /// A position beyond the end is taken back to the end.
    pub(crate) async fn subscribe(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        at: Position,
    ) -> Result<Subscription, Problem> {
        let chat = self.store.get_chat(scope, chat_id).await?;
        let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
        let seat = self.sit_down(&chat.app_id, chat_id)?;
        let mut window = seat.feed.window.subscribe();
        let head = window.wait_for(|window| window.head().is_some() || window.is_gone()).await;
        let head = head.ok().and_then(|window| window.head().cloned());
        let head = head.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
        let at = seat.feed.corrected(at, &head).await?;
        Ok(Subscription::new(seat, window, Arc::clone(&self.readers), at))
    }

    /// Waits until an input request is closed, or as long as said; returns it as it stands then.
    pub(crate) async fn wait_for_input(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        wait: Duration,
        ends: &Ends,
    ) -> Result<InputRequest, Problem> {
        let get = || self.store.get_input_request(scope, chat_id, request_id);
        let request = get().await?;
        if request.closing.is_some() || wait.is_zero() {
            return Ok(request);
        }
        let mut deadline = Instant::now() + wait;
        if let Some(expires_at) = request.expires_at {
            let left = (expires_at - SystemClock.now()).to_std().unwrap_or_default();
            deadline = deadline.min(Instant::now() + left);
        }
        let seat = self.sit_down(&scope.app_id, chat_id)?;
        let mut window = seat.feed.window.subscribe();
        // One for the whole wait: begun anew, it would never come to its next look.
        let mut ended = pin!(ends.reached());
        let mut known = None;
        loop {
            let is_new = |window: &Window| {
                let version = window.head().map(|head| head.input_version);
                window.is_gone() || version.is_some_and(|version| known < Some(version))
            };
            let news = async {
                let window = timeout_at(deadline, window.wait_for(is_new)).await.ok()?.ok()?;
                window.head().filter(|_| !window.is_gone()).map(|head| head.input_version)
            };
            let version = tokio::select! {
                version = news => version,
                end = &mut ended => match end {
                    End::Shutdown => None,
                    End::Expired => return Err(unauthenticated("the token has expired")),
                    End::Revoked(problem) => return Err(problem),
                },
            };
            let request = get().await?;
            // None: there is nothing more to wait for.
            if version.is_none() || request.closing.is_some() {
                return Ok(request);
            }
            known = version;
        }
    }

    /// Takes one of the seats there are for a chat, and begins to follow the chat with the first.
    fn sit_down(&self, app_id: &AppId, chat_id: &ChatId) -> Result<Seat, Problem> {
        let mut state = self.feeds.state();
        if state.subscribers >= self.limits.subscribers {
            return Err(too_many("the process"));
        }
        let followed = state.chats.entry(chat_id.clone()).or_insert_with(|| {
            let scope = Scope::service(app_id.clone());
            let feed = Arc::new(Feed::new(Arc::clone(&self.store), scope, chat_id.clone()));
            let running = tokio::spawn(Arc::clone(&feed).run()).abort_handle();
            Followed { feed, running, subscribers: 0 }
        });
        if followed.subscribers >= self.limits.subscribers_per_chat {
            return Err(too_many("the chat"));
        }
        followed.subscribers += 1;
        let feed = Arc::clone(&followed.feed);
        state.subscribers += 1;
        if state.watching.is_none() {
            let watching = watch(Arc::clone(&self.store), Arc::clone(&self.feeds));
            state.watching = Some(tokio::spawn(watching).abort_handle());
        }
        Ok(Seat { feeds: Arc::clone(&self.feeds), feed })
    }
}

fn too_many(of_what: &str) -> Problem {
    let detail = format!("{of_what} has as many subscribers as it may have; try again later");
    Problem::new(ProblemKind::TOO_MANY_SUBSCRIBERS, detail).retry_after(Duration::from_secs(5))
}

/// The feeds of a process.
#[derive(Debug, Default)]
pub(super) struct Feeds(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    chats: HashMap<ChatId, Followed>,
    subscribers: usize,
    /// What wakes the feeds, while there are any.
    watching: Option<AbortHandle>,
}

#[derive(Debug)]
struct Followed {
    feed: Arc<Feed>,
    running: AbortHandle,
    subscribers: usize,
}

impl Feeds {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the feed of a chat that has changed, if there is one.
    pub(super) fn notice(&self, change: &ChatChange) {
        if let Some(followed) = self.state().chats.get(&change.chat_id) {
            followed.feed.notice(change.last_sequence);
        }
    }

    /// Has who is present in a chat read anew, if somebody listens to it.
    pub(super) fn notice_presence(&self, chat_id: &ChatId) {
        if let Some(followed) = self.state().chats.get(chat_id) {
            followed.feed.presence_moved.notify_one();
        }
    }

    /// Has what was used in a chat read anew, if somebody listens to it.
    pub(super) fn notice_usage(&self, chat_id: &ChatId) {
        if let Some(followed) = self.state().chats.get(chat_id) {
            followed.feed.usage_moved.notify_one();
        }
    }

    /// Has everything beside messages read anew, in all chats.
    pub(super) fn notice_asides(&self) {
        for followed in self.state().chats.values() {
            followed.feed.presence_moved.notify_one();
            followed.feed.usage_moved.notify_one();
        }
    }

    /// Wakes the feed of a chat that stands elsewhere than it knows, if there is one.
    pub(super) fn notice_head(&self, head: &ChatHead) {
        let feed = self.state().chats.get(&head.chat_id).map(|followed| Arc::clone(&followed.feed));
        if let Some(feed) = feed {
            feed.notice_head(head);
        }
    }

    /// Returns the chats that are followed, those of an app together.
    pub(super) fn by_app(&self) -> Vec<(Scope, Vec<ChatId>)> {
        let mut by_app: HashMap<AppId, Vec<ChatId>> = HashMap::new();
        for (chat_id, followed) in &self.state().chats {
            let app_id = followed.feed.scope.app_id.clone();
            by_app.entry(app_id).or_default().push(chat_id.clone());
        }
        by_app.into_iter().map(|(app_id, chats)| (Scope::service(app_id), chats)).collect()
    }
}

/// A place among those who listen to a chat; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Seat {
    feeds: Arc<Feeds>,
    pub(super) feed: Arc<Feed>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.feeds.state();
        state.subscribers -= 1;
        let Some(followed) = state.chats.get_mut(&self.feed.chat_id) else { return };
        followed.subscribers -= 1;
        if followed.subscribers == 0 {
            followed.running.abort();
            state.chats.remove(&self.feed.chat_id);
        }
        if state.chats.is_empty()
            && let Some(watching) = state.watching.take()
        {
            watching.abort();
        }
    }
}
