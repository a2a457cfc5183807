//! Announces the people who subscribe through this process as present.
//!
//! One task writes for all of them: announcements of new connections, withdrawals of closed ones, and
//! renewals. No stream waits for it or depends on it. A connection that it cannot withdraw disappears
//! when its announcement expires.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use persistence::{Store, StoreError};
use records::{AppId, ChatId, Connection, ConnectionId, Scope, Uuid7Ids};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use super::backoff::Backoff;

/// The most connections that one store call writes.
const MAX_CONNECTIONS_PER_WRITE: usize = 500;

/// The longest wait for the withdrawal of a connection before the process stops.
const MAX_WITHDRAWAL_WAIT: Duration = Duration::from_secs(2);

/// Announces the people who subscribe through this process.
#[derive(Debug)]
pub(super) struct PresenceAnnouncer {
    store: Arc<dyn Store>,
    /// How long an announcement lasts; it is renewed after a third of that, so that two renewals in a
    /// row may fail.
    expiry: Duration,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<ConnectionId, OpenConnection>,
    /// Entries are dropped once their announcement has expired, so the list stays bounded while the store
    /// is away.
    closed: Vec<ClosedConnection>,
    /// Whether the task runs: it starts with the first connection and stops after the last.
    is_running: bool,
}

#[derive(Debug)]
struct OpenConnection {
    app_id: AppId,
    connection: Connection,
    is_announced: bool,
}

/// A connection whose withdrawal is not written yet.
#[derive(Debug)]
struct ClosedConnection {
    app_id: AppId,
    connection: Connection,
    /// When its announcement expires by itself, and the withdrawal is needed no more.
    expires_at: Instant,
    /// Dropped once the withdrawal is written, which tells `withdraw`.
    _withdrawn: Option<oneshot::Sender<()>>,
}

/// Keeps one connection of a person announced; dropping it withdraws the announcement in the background.
#[derive(Debug)]
pub(crate) struct PresenceGuard {
    announcer: Arc<PresenceAnnouncer>,
    connection_id: ConnectionId,
}

impl PresenceGuard {
    /// Withdraws the announcement and waits a moment until that is written.
    ///
    /// For a process that is about to stop: without the wait the person would stay shown as present
    /// until the announcement expires.
    pub(crate) async fn withdraw(self) {
        let (withdrawn, is_withdrawn) = oneshot::channel();
        self.announcer.close(&self.connection_id, Some(withdrawn));
        // The sender is dropped, not used: an error is the sign that the withdrawal is written.
        let _ = timeout(MAX_WITHDRAWAL_WAIT, is_withdrawn).await;
    }
}

impl Drop for PresenceGuard {
    fn drop(&mut self) {
        self.announcer.close(&self.connection_id, None);
    }
}

impl PresenceAnnouncer {
    pub(super) fn new(store: Arc<dyn Store>, expiry: Duration) -> Self {
        Self { store, expiry, state: Mutex::default(), changed: Notify::new() }
    }

    /// Announces a connection of the caller, if the caller is a person; a service is never announced.
    pub(super) fn announce(
        self: &Arc<Self>,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Option<PresenceGuard> {
        let (user_id, chat_id) = (scope.caller.person()?.clone(), chat_id.clone());
        let connection_id = ConnectionId::mint(&Uuid7Ids);
        let connection = Connection { connection_id: connection_id.clone(), chat_id, user_id };
        let open = OpenConnection { app_id: scope.app_id.clone(), connection, is_announced: false };
        let mut state = self.state();
        state.open.insert(connection_id.clone(), open);
        if !state.is_running {
            state.is_running = true;
            tokio::spawn(Arc::clone(self).run());
        }
        self.changed.notify_one();
        Some(PresenceGuard { announcer: Arc::clone(self), connection_id })
    }

    /// Schedules the withdrawal of a connection, once.
    fn close(&self, connection_id: &ConnectionId, withdrawn: Option<oneshot::Sender<()>>) {
        let mut state = self.state();
        let Some(OpenConnection { app_id, connection, .. }) = state.open.remove(connection_id)
        else {
            return;
        };
        let expires_at = Instant::now() + self.expiry;
        let closed = ClosedConnection { app_id, connection, expires_at, _withdrawn: withdrawn };
        state.closed.push(closed);
        self.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes announcements, withdrawals and renewals until no connection is left.
    async fn run(self: Arc<Self>) {
        let mut backoff = Backoff::new();
        let mut renewal = Instant::now() + self.expiry / 3;
        while let Some(writes) = self.pending_writes(Instant::now() >= renewal) {
            if writes.is_renewal {
                renewal = Instant::now() + self.expiry / 3;
            }
            match self.write(&writes).await {
                Ok(()) => {
                    backoff.reset();
                    let _ = timeout_at(renewal, self.changed.notified()).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to write presence");
                    backoff.wait().await;
                    // It is not known which connections were written, so all of them are renewed.
                    renewal = Instant::now();
                }
            }
        }
    }

    /// Collects what must be written; `None` once there is no connection, which stops the task.
    fn pending_writes(&self, is_renewal: bool) -> Option<PendingWrites> {
        let mut state = self.state();
        let now = Instant::now();
        state.closed.retain(|closed| closed.expires_at > now);
        // Decided under the lock that `announce` takes: either this task sees the new connection, or
        // `announce` sees that no task runs and starts one.
        if state.open.is_empty() && state.closed.is_empty() {
            state.is_running = false;
            return None;
        }
        let mut writes = PendingWrites { is_renewal, ..PendingWrites::default() };
        for open in state.open.values().filter(|open| is_renewal || !open.is_announced) {
            let connections = writes.announcements.entry(open.app_id.clone()).or_default();
            connections.push(open.connection.clone());
        }
        for closed in &state.closed {
            let connections = writes.withdrawals.entry(closed.app_id.clone()).or_default();
            connections.push(closed.connection.clone());
        }
        Some(writes)
    }

    async fn write(&self, writes: &PendingWrites) -> Result<(), StoreError> {
        for (app_id, connections) in &writes.withdrawals {
            let scope = Scope::service(app_id.clone());
            for connections in connections.chunks(MAX_CONNECTIONS_PER_WRITE) {
                self.store.withdraw(&scope, connections).await?;
                self.state().closed.retain(|of| !connections.contains(&of.connection));
            }
        }
        for (app_id, connections) in &writes.announcements {
            let scope = Scope::service(app_id.clone());
            for connections in connections.chunks(MAX_CONNECTIONS_PER_WRITE) {
                self.store.announce(&scope, connections, self.expiry).await?;
                let mut state = self.state();
                for connection in connections {
                    if let Some(open) = state.open.get_mut(&connection.connection_id) {
                        open.is_announced = true;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What the task must write at the moment, by app.
#[derive(Debug, Default)]
struct PendingWrites {
    /// Whether `announcements` holds all open connections, those announced before included.
    is_renewal: bool,
    announcements: HashMap<AppId, Vec<Connection>>,
    withdrawals: HashMap<AppId, Vec<Connection>>,
}
