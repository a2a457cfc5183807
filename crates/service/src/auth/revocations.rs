//! The revocations that this process knows, and the task that follows the list in the store.

use std::future::pending;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt as _;
use persistence::{BoxError, RevocationCursor, Store};
use records::{AppId, Clock as _, SystemClock};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::revocation_table::Table;
use super::{Apps, Identity, unauthenticated};
use crate::metrics::AuthMetrics;
use crate::problem::{Problem, ProblemKind};

/// The longest time between two reads of the list.
const MAX_INTERVAL: Duration = Duration::from_secs(5);
/// How many reads fit into the time after which a revocation must be effective.
const READS_PER_RECHECK: u32 = 3;
/// How far each read goes back before the newest change that was seen: a change with an earlier time may become
/// visible later. It is longer than a write of the store can take.
const OVERLAP: TimeDelta = TimeDelta::minutes(2);
/// How often the whole list is read. So entries are dropped that the store has forgotten, and an entry is found even if
/// the clock of the database was set back.
const RELOAD_INTERVAL: Duration = Duration::from_mins(5);
/// The longest time that a request waits for the first load.
const MAX_LOAD_WAIT: Duration = Duration::from_secs(2);
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Revocations in one read.
const PAGE: usize = 1_000;

/// The revocations that this process knows.
#[derive(Debug)]
pub(crate) struct Revocations {
    shared: Arc<Shared>,
    /// Ends with the authenticator.
    task: OnceLock<AbortOnDropHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    interval: Duration,
    table: RwLock<Table>,
    /// The number of changes that were seen; 0 until the list was loaded.
    version: watch::Sender<u64>,
    metrics: AuthMetrics,
}

impl Revocations {
    pub(super) fn new(store: Arc<dyn Store>, recheck: Duration, metrics: AuthMetrics) -> Self {
        let interval = (recheck / READS_PER_RECHECK).min(MAX_INTERVAL);
        let (table, version) = Default::default();
        let shared = Shared { store, interval, table, version, metrics };
        Self { shared: Arc::new(shared), task: OnceLock::new() }
    }

    /// Starts to follow the list, if there is a runtime.
    pub(super) fn follow(&self) {
        if let Ok(runtime) = Handle::try_current() {
            self.task.get_or_init(|| {
                AbortOnDropHandle::new(runtime.spawn(Arc::clone(&self.shared).follow()))
            });
        }
    }

    /// Refuses an identity that is revoked for every app that it names, and notes the apps in which it is revoked.
    ///
    /// Until the list was loaded no identity is admitted, or a restart would admit a revoked token.
    pub(super) async fn admit(&self, mut identity: Identity) -> Result<Identity, Problem> {
        self.follow();
        self.loaded().await?;
        identity.revoked_in.clear();
        {
            let table = self.shared.table();
            for revocation in table.covering(&identity.credentials) {
                match &revocation.key.app_id {
                    Some(app_id) => identity.revoked_in.push(app_id.clone()),
                    None => return Err(revoked()),
                }
            }
        }
        let has_left = match &identity.apps {
            Apps::All => true,
            Apps::These(apps) => {
                apps.is_empty() || apps.iter().any(|app| !identity.revoked_in.contains(app))
            }
        };
        if has_left { Ok(identity) } else { Err(revoked()) }
    }

    /// Returns once an identity is revoked in an app.
    pub(super) async fn revoked(&self, identity: &Identity, app_id: &AppId) {
        // Before the first check: a change after this ends the wait below.
        let mut version = self.shared.version.subscribe();
        while !self.shared.revokes(identity, app_id) {
            if version.changed().await.is_err() {
                // Not reached: the sender lives in `self`.
                pending::<()>().await;
            }
        }
    }

    async fn loaded(&self) -> Result<(), Problem> {
        if *self.shared.version.borrow() > 0 {
            return Ok(());
        }
        let mut version = self.shared.version.subscribe();
        let loading = timeout(MAX_LOAD_WAIT, version.wait_for(|version| *version > 0));
        if let Ok(Ok(_)) = loading.await {
            return Ok(());
        }
        let detail = "the list of revoked tokens was not read from the store yet; retry after Retry-After seconds";
        Err(Problem::new(ProblemKind::STORE_UNAVAILABLE, detail).with_retry_after(RETRY_PAUSE))
    }
}

fn revoked() -> Problem {
    unauthenticated("the token was revoked").of_known_caller()
}

/// What the task has seen of the list.
#[derive(Debug, Default)]
struct Seen {
    /// When the whole list was read.
    reloaded: Option<Instant>,
    /// The time of the newest change.
    newest: Option<DateTime<Utc>>,
    /// Whether something has changed that was not announced yet.
    has_changed: bool,
}

impl Shared {
    async fn follow(self: Arc<Self>) {
        let mut seen = Seen::default();
        let mut has_failed = false;
        loop {
            let begun = Instant::now();
            // A panic must not end this task: the service would never hear of another revocation.
            let refreshed = AssertUnwindSafe(self.refresh(&mut seen)).catch_unwind().await;
            let refreshed = refreshed.unwrap_or_else(|_| Err("the read panicked".into()));
            self.announce(&mut seen);
            self.metrics.revocations_read(refreshed.is_ok());
            if let (Err(error), false) = (&refreshed, has_failed) {
                tracing::warn!(%error, "failed to read the revoked tokens; the list from before stays in force");
            }
            has_failed = refreshed.is_err();
            let is_loaded = seen.reloaded.is_some();
            let pause = if is_loaded { self.interval } else { self.interval.min(RETRY_PAUSE) };
            sleep_until(begun + pause).await;
        }
    }

    /// Reads what has changed, or the whole list if that is due.
    async fn refresh(&self, seen: &mut Seen) -> Result<(), BoxError> {
        let begun = Instant::now();
        if seen.reloaded.is_some_and(|at| at.elapsed() < RELOAD_INTERVAL) {
            let from = seen.newest.map(|newest| RevocationCursor::before(newest, OVERLAP));
            return self.read_list(from, seen, None).await;
        }
        let mut whole = Table::default();
        self.read_list(None, seen, Some(&mut whole)).await?;
        let mut table = self.table_to_change();
        seen.has_changed |= seen.reloaded.is_none() || *table != whole;
        *table = whole;
        seen.reloaded = Some(begun);
        Ok(())
    }

    /// Reads the list after a position. Each entry applies at once, also if a later read fails; `copy` gets them too.
    async fn read_list(
        &self,
        mut after: Option<RevocationCursor>,
        seen: &mut Seen,
        mut copy: Option<&mut Table>,
    ) -> Result<(), BoxError> {
        loop {
            let page = self.store.list_revocations(PAGE, after.as_ref()).await?;
            let now = SystemClock.now();
            for entry in page.entries {
                seen.newest = seen.newest.max(Some(entry.changed_at));
                if let Some(copy) = &mut copy {
                    copy.apply(entry.clone(), now);
                }
                seen.has_changed |= self.table_to_change().apply(entry, now);
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Lets requests and streams see what has changed, once the whole list was read for the first time.
    fn announce(&self, seen: &mut Seen) {
        if seen.reloaded.is_some() && mem::take(&mut seen.has_changed) {
            self.metrics.revocations_in_force(self.table().len());
            self.version.send_modify(|version| *version += 1);
        }
    }

    fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn table_to_change(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn revokes(&self, identity: &Identity, app_id: &AppId) -> bool {
        let table = self.table();
        let mut revocations = table.covering(&identity.credentials);
        revocations.any(|it| it.key.app_id.as_ref().is_none_or(|revoked_in| revoked_in == app_id))
    }
}
