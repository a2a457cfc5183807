use std::sync::Arc;
use std::time::Duration;

use persistence::{Store, StoreError};
use records::{ChatId, Scope};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::backoff::Backoff;
use super::encoded::Encoded;
use super::window::Window;
use crate::wire::PresenceResponse;

/// The shortest time between two reads of the present users.
///
/// When many people join at once, each of them triggers a change: this bounds the reads, whatever the
/// number of changes.
const MIN_PRESENCE_INTERVAL: Duration = Duration::from_millis(250);

/// The shortest time between two reads of what the calls used.
const MIN_USAGE_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time without a read of the present users, where no announcement can expire.
const MAX_PRESENCE_AGE: Duration = Duration::from_hours(1);

/// Reads the states of one chat that have no sequence, and puts them into its window.
#[derive(Debug)]
pub(super) struct StateFeed {
    store: Arc<dyn Store>,
    scope: Scope,
    chat_id: ChatId,
    presence_changed: Notify,
    usage_changed: Notify,
}

impl StateFeed {
    pub(super) fn new(store: Arc<dyn Store>, scope: Scope, chat_id: ChatId) -> Self {
        let (presence_changed, usage_changed) = (Notify::new(), Notify::new());
        Self { store, scope, chat_id, presence_changed, usage_changed }
    }

    /// Requests a read of the present users.
    pub(super) fn presence_changed(&self) {
        self.presence_changed.notify_one();
    }

    /// Requests a read of what the calls used.
    pub(super) fn usage_changed(&self) {
        self.usage_changed.notify_one();
    }

    /// Reads the states whenever they may have changed; runs until it is dropped.
    pub(super) async fn run(&self, window: &watch::Sender<Window>) {
        tokio::join!(self.follow_presence(window), self.follow_usage(window));
    }

    /// Reads who is present: at the start, after each change, and when an announcement may have expired.
    async fn follow_presence(&self, window: &watch::Sender<Window>) {
        let mut backoff = Backoff::new();
        loop {
            match self.read_presence(window).await {
                Ok(expires_in) => {
                    backoff.reset();
                    sleep(MIN_PRESENCE_INTERVAL).await;
                    let changed = self.presence_changed.notified();
                    // No process reports that the connections of a dead process expired, so the end of
                    // the timeout is a reason to read, like a change.
                    let _ = timeout(expires_in.unwrap_or(MAX_PRESENCE_AGE), changed).await;
                }
                Err(error) => {
                    tracing::debug!(%error, chat_id = %self.chat_id, "failed to read presence");
                    backoff.wait().await;
                }
            }
        }
    }

    /// Reads who is present once; returns when the first announcement expires, if one can.
    async fn read_presence(
        &self,
        window: &watch::Sender<Window>,
    ) -> Result<Option<Duration>, StoreError> {
        let presence = self.store.presence(&self.scope, &self.chat_id).await?;
        let expires_in = presence.lasting;
        let presence = Encoded::new(&PresenceResponse::new(&self.chat_id, presence));
        window.send_if_modified(|window| window.states_mut().set_presence(presence));
        Ok(expires_in)
    }

    /// Reads what the calls of the chat used: at the start, and after each recording or deletion.
    async fn follow_usage(&self, window: &watch::Sender<Window>) {
        let mut backoff = Backoff::new();
        loop {
            match self.read_usage(window).await {
                Ok(()) => {
                    backoff.reset();
                    sleep(MIN_USAGE_INTERVAL).await;
                    self.usage_changed.notified().await;
                }
                Err(error) => {
                    tracing::debug!(%error, chat_id = %self.chat_id, "failed to read usage");
                    backoff.wait().await;
                }
            }
        }
    }

    async fn read_usage(&self, window: &watch::Sender<Window>) -> Result<(), StoreError> {
        let usage = self.store.chat_usage(&self.scope, &self.chat_id).await?;
        window.send_if_modified(|window| {
            let states = window.states_mut();
            // Subscribers assume zero usage until they are sent some, so zero is only worth an event
            // when it replaces another value: after the last call was deleted.
            (usage.calls > 0 || states.has_usage()) && states.set_usage(Encoded::new(&usage.into()))
        });
        Ok(())
    }
}
