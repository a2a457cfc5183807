use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use persistence::{Store, StoreError};
use records::{ChatId, Clock as _, InputRequest, InputRequestId, Permission, Scope, SystemClock};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout_at};

use super::document_log::DocumentLog;
use super::feed::Feed;
use super::feeds::{Feeds, StreamQuotas, SubscriberPermit};
use super::position::Position;
use super::presence::{PresenceAnnouncer, PresenceGuard};
use super::reader::Reader;
use super::shutdown::Shutdown;
use super::stream_limits::{DownloadLimits, RightsCheck, StreamEnd, StreamLimits};
use super::subscription::Subscription;
use super::watcher::watch_changes;
use super::window::Window;
use crate::admission::{MemoryBudget, Subject};
use crate::auth::{TokenWatch, unauthenticated};
use crate::config::LimitsConfig;
use crate::problem::Problem;
use crate::registry::AppRegistry;

/// How many subscriptions read from the store at a time; further ones wait for their turn.
///
/// When thousands of clients reconnect at once, the bound keeps their catching up from taking every
/// connection to the store away from writes.
const MAX_CONCURRENT_READS: usize = 16;

/// The live chats of this process: the entrance for everything that waits for changes of a chat.
///
/// A chat without subscribers is not known here, and without any subscriber no task runs.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(super) store: Arc<dyn Store>,
    registry: Arc<AppRegistry>,
    pub(super) limits: Arc<LimitsConfig>,
    memory: Arc<MemoryBudget>,
    feeds: Arc<Feeds>,
    pub(super) quotas: StreamQuotas,
    pub(super) read_permits: Arc<Semaphore>,
    announcer: Arc<PresenceAnnouncer>,
    pub(super) documents: Arc<DocumentLog>,
}

impl Hub {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        registry: Arc<AppRegistry>,
        limits: Arc<LimitsConfig>,
        memory: Arc<MemoryBudget>,
    ) -> Self {
        let read_permits = Arc::new(Semaphore::new(MAX_CONCURRENT_READS));
        let expiry = limits.presence_expiry();
        let announcer = Arc::new(PresenceAnnouncer::new(Arc::clone(&store), expiry));
        let quotas = StreamQuotas::new(&limits);
        let feeds = Arc::default();
        let documents = Arc::default();
        Self { store, registry, limits, memory, feeds, quotas, read_permits, announcer, documents }
    }

    /// Announces a person as present in a chat while the guard is held; `None` for a service, and for a caller with a
    /// ticket that is only for reading: they are never shown as present.
    pub(crate) fn announce(&self, scope: &Scope, chat_id: &ChatId) -> Option<PresenceGuard> {
        let is_shown = scope.grant.admits(Permission::Say);
        is_shown.then(|| self.announcer.announce(scope, chat_id)).flatten()
    }

    /// Returns the limits of a stream of a chat to one client.
    pub(crate) fn stream_limits(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        token: TokenWatch,
        shutdown: Shutdown,
    ) -> StreamLimits {
        StreamLimits::new(shutdown, token, self.rights_check(scope, Some(chat_id)))
    }

    /// Returns the limits of a stream of an app to one client.
    pub(crate) fn app_stream_limits(
        &self,
        scope: &Scope,
        token: TokenWatch,
        shutdown: Shutdown,
    ) -> StreamLimits {
        StreamLimits::new(shutdown, token, self.rights_check(scope, None))
    }

    /// Returns the limits of a download of a chat by one client.
    pub(crate) fn download_limits(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        token: TokenWatch,
    ) -> DownloadLimits {
        DownloadLimits::new(token, self.rights_check(scope, Some(chat_id)))
    }

    fn rights_check(&self, scope: &Scope, chat_id: Option<&ChatId>) -> RightsCheck {
        RightsCheck {
            scope: scope.clone(),
            chat_id: chat_id.cloned(),
            store: Arc::clone(&self.store),
            registry: Arc::clone(&self.registry),
            interval: self.limits.recheck(),
        }
    }

    /// Subscribes a client to a chat that it may read, from a position on.
    ///
    /// A position past the end is clamped to the end.
    pub(crate) async fn subscribe(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        at: Position,
    ) -> Result<Subscription, Problem> {
        let chat = self.store.get_chat(scope, chat_id).await?;
        let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
        // Managing a chat follows from owning it, not from membership.
        let sees_cost = scope.may(Permission::Manage, &chat, &[]);
        let permit = self.admit(scope, chat_id)?;
        let mut window = permit.feed.subscribe();
        let head = window.wait_for(|window| window.head().is_some() || window.is_gone()).await;
        let head = head.ok().and_then(|window| window.head().cloned());
        let head = head.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
        let at = permit.feed.clamp_position(at, &head).await?;
        let permits = Arc::clone(&self.read_permits);
        let memory = self.memory.of(Subject::of(scope));
        let reader = Reader::new(Arc::clone(&permit.feed), permits, memory);
        Ok(Subscription::new(permit, window, reader, at, sees_cost))
    }

    /// Waits until an input request is closed, at most for a duration; returns its current state.
    pub(crate) async fn wait_for_input(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        wait: Duration,
        limits: &StreamLimits,
    ) -> Result<InputRequest, Problem> {
        let get = || self.store.get_input_request(scope, chat_id, request_id);
        let request = get().await?;
        if request.closing.is_some() || wait.is_zero() {
            return Ok(request);
        }
        let deadline = deadline_of(&request, wait);
        let permit = self.admit(scope, chat_id)?;
        let mut window = permit.feed.subscribe();
        // Created once for the whole wait: created anew in each round of the loop, its pauses would
        // start from zero each time, and the rights would never be checked in a busy chat.
        let mut limit_reached = pin!(limits.reached());
        let mut seen_version = None;
        loop {
            let version = tokio::select! {
                version = newer_input_version(&mut window, seen_version, deadline) => version,
                end = &mut limit_reached => match end {
                    StreamEnd::Shutdown => None,
                    StreamEnd::TokenExpired => return Err(unauthenticated("the token has expired")),
                    StreamEnd::TokenRevoked => return Err(unauthenticated("the token was revoked")),
                    StreamEnd::KeyRemoved => {
                        return Err(unauthenticated("the key of the token was removed"));
                    }
                    StreamEnd::Revoked(problem) => return Err(problem),
                },
            };
            let request = get().await?;
            if version.is_none() || request.closing.is_some() {
                return Ok(request);
            }
            seen_version = version;
        }
    }

    /// Admits a subscriber to a chat, and starts the feed of the chat for the first one.
    fn admit(&self, scope: &Scope, chat_id: &ChatId) -> Result<SubscriberPermit, Problem> {
        let shares = self.quotas.take(scope)?;
        let app_id = scope.app_id.clone();
        let open_feed = || Feed::new(Arc::clone(&self.store), app_id, chat_id.clone());
        let start_watcher = || {
            let watching = watch_changes(Arc::clone(&self.store), Arc::clone(&self.feeds));
            tokio::spawn(watching).abort_handle()
        };
        self.feeds.admit(chat_id, &self.limits, shares, open_feed, start_watcher)
    }
}

/// Returns when to stop waiting for an answer: after the wait, or when the request expires before that.
fn deadline_of(request: &InputRequest, wait: Duration) -> Instant {
    let now = Instant::now();
    let expires_in = request
        .expires_at
        .map(|expires_at| (expires_at - SystemClock.now()).to_std().unwrap_or_default());
    now + expires_in.map_or(wait, |expires_in| expires_in.min(wait))
}

/// Waits for a version of a chat's input requests after the one seen; `None` at the deadline, or when
/// the chat no longer exists.
async fn newer_input_version(
    window: &mut watch::Receiver<Window>,
    seen_version: Option<u64>,
    deadline: Instant,
) -> Option<u64> {
    let is_newer = |window: &Window| {
        let version = window.head().map(|head| head.input_version);
        window.is_gone() || version.is_some_and(|version| seen_version < Some(version))
    };
    let window = timeout_at(deadline, window.wait_for(is_newer)).await.ok()?.ok()?;
    window.head().filter(|_| !window.is_gone()).map(|head| head.input_version)
}
