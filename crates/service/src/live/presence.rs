//! Announces the people who listen through this process, for as long as they do.
//!
//! One task writes for all of them: who has come and gone since, and now and then that the others are
//! still there. Nobody waits for it, and nobody's listening depends on it; whom it cannot withdraw is
//! gone when the announcement has run out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use persistence::{Store, StoreError};
use records::{AppId, ChatId, Connection, ConnectionId, Scope, Uuid7Ids};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::feed::PAUSES;

/// Connections that are announced with one call.
const ANNOUNCED: usize = 500;

/// How long the end of a connection waits to be written down.
const PATIENCE: Duration = Duration::from_secs(2);

/// The people who listen through this process.
#[derive(Debug)]
pub(super) struct Announcer {
    store: Arc<dyn Store>,
    /// How long an announcement lasts; it is made anew after a third of that.
    lasting: Duration,
    state: Mutex<State>,
    moved: Notify,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<ConnectionId, Open>,
    leaving: Vec<Leaving>,
    /// A task announces them: while there are any, or have been.
    is_running: bool,
}

#[derive(Debug)]
struct Open {
    app_id: AppId,
    connection: Connection,
    is_announced: bool,
}

#[derive(Debug)]
struct Leaving {
    app_id: AppId,
    connection: Connection,
    /// When it is forgotten by itself.
    expires_at: Instant,
    /// Dropped when it is withdrawn.
    _withdrawn: Option<oneshot::Sender<()>>,
}

/// A person who listens, for as long as this is held.
#[derive(Debug)]
pub(crate) struct Announced {
    announcer: Arc<Announcer>,
    connection_id: ConnectionId,
}

impl Announced {
    /// Ends it, and waits a little until that is written down; for when the process is about to stop.
    pub(crate) async fn withdrawn(self) {
        let (withdrawn, is_withdrawn) = oneshot::channel();
        self.announcer.leave(&self.connection_id, Some(withdrawn));
        // An error says that it is.
        let _ = timeout(PATIENCE, is_withdrawn).await;
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        self.announcer.leave(&self.connection_id, None);
    }
}

impl Announcer {
    pub(super) fn new(store: Arc<dyn Store>, lasting: Duration) -> Self {
        Self { store, lasting, state: Mutex::default(), moved: Notify::new() }
    }

    /// Announces the person who calls; `None`: a service listens unseen.
    pub(super) fn enter(self: &Arc<Self>, scope: &Scope, chat_id: &ChatId) -> Option<Announced> {
        let (user_id, chat_id) = (scope.caller.person()?.clone(), chat_id.clone());
        let connection_id = ConnectionId::mint(&Uuid7Ids);
        let connection = Connection { connection_id: connection_id.clone(), chat_id, user_id };
        let open = Open { app_id: scope.app_id.clone(), connection, is_announced: false };
        let mut state = self.state();
        state.open.insert(connection_id.clone(), open);
        if !state.is_running {
            state.is_running = true;
            tokio::spawn(Arc::clone(self).run());
        }
        self.moved.notify_one();
        Some(Announced { announcer: Arc::clone(self), connection_id })
    }

    fn leave(&self, connection_id: &ConnectionId, withdrawn: Option<oneshot::Sender<()>>) {
        let mut state = self.state();
        let Some(Open { app_id, connection, .. }) = state.open.remove(connection_id) else {
            return;
        };
        let expires_at = Instant::now() + self.lasting;
        state.leaving.push(Leaving { app_id, connection, expires_at, _withdrawn: withdrawn });
        self.moved.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down who comes, goes and stays, until nobody is left.
    async fn run(self: Arc<Self>) {
        let mut pause = PAUSES.0;
        let mut renewal = Instant::now() + self.lasting / 3;
        while let Some(work) = self.work(Instant::now() >= renewal) {
            if work.is_renewal {
                renewal = Instant::now() + self.lasting / 3;
            }
            match self.carry_out(&work).await {
                Ok(()) => {
                    pause = PAUSES.0;
                    let _ = timeout_at(renewal, self.moved.notified()).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "could not write down who is present");
                    sleep(pause).await;
                    (pause, renewal) = ((pause * 2).min(PAUSES.1), Instant::now());
                }
            }
        }
    }

    /// Returns what is to be written; `None`: there is nobody any more, so this is over.
    fn work(&self, is_renewal: bool) -> Option<Work> {
        let mut state = self.state();
        let now = Instant::now();
        state.leaving.retain(|leaving| leaving.expires_at > now);
        if state.open.is_empty() && state.leaving.is_empty() {
            state.is_running = false;
            return None;
        }
        let mut work = Work { is_renewal, ..Work::default() };
        for open in state.open.values().filter(|open| is_renewal || !open.is_announced) {
            let connections = work.announced.entry(open.app_id.clone()).or_default();
            connections.push(open.connection.clone());
        }
        for leaving in &state.leaving {
            let connections = work.withdrawn.entry(leaving.app_id.clone()).or_default();
            connections.push(leaving.connection.clone());
        }
        Some(work)
    }

    async fn carry_out(&self, work: &Work) -> Result<(), StoreError> {
        for (app_id, connections) in &work.withdrawn {
            let scope = Scope::service(app_id.clone());
            for connections in connections.chunks(ANNOUNCED) {
                self.store.withdraw(&scope, connections).await?;
                self.state().leaving.retain(|of| !connections.contains(&of.connection));
            }
        }
        for (app_id, connections) in &work.announced {
            let scope = Scope::service(app_id.clone());
            for connections in connections.chunks(ANNOUNCED) {
                self.store.announce(&scope, connections, self.lasting).await?;
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

/// What is to be written at once, by app.
#[derive(Debug, Default)]
struct Work {
    /// Those who stay are among those announced.
    is_renewal: bool,
    announced: HashMap<AppId, Vec<Connection>>,
    withdrawn: HashMap<AppId, Vec<Connection>>,
}
