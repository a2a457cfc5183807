//! The keys that are valid now, and the task that keeps them current.

use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use jsonwebtoken::DecodingKey;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::keys::{KeySource, Keys, digest_of, parse};
use crate::config::{Algorithm, AuthConfig, ConfigError};
use crate::metrics::KeyMetrics;
use crate::outgoing::{OutgoingClient, OutgoingUrl};
use crate::problem::{Problem, ProblemKind};

/// The shortest time between two fetches. Tokens with invented key ids cannot make the service fetch more often.
const MIN_FETCH_PAUSE: Duration = Duration::from_secs(2);
/// How soon a fetch is repeated after a failure, unless the regular interval is shorter.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// How often a key file is read, to see whether it has changed.
const FILE_INTERVAL: Duration = Duration::from_secs(1);
/// The shortest time between two reads of a key file.
const MIN_READ_PAUSE: Duration = Duration::from_millis(100);
/// The longest time that a request waits for the key of its token.
const MAX_KEY_WAIT: Duration = Duration::from_secs(6);
/// The most requests that wait for the keys of their tokens.
const MAX_WAITING: usize = 256;

/// The keys that are valid now.
pub(super) struct KeyRing {
    shared: Arc<Shared>,
    source: KeySource,
    interval: Duration,
    /// Ends with the ring.
    task: OnceLock<AbortOnDropHandle<()>>,
}

struct Shared {
    algorithm: Algorithm,
    keys: RwLock<Arc<Keys>>,
    /// How often the keys were replaced.
    version: watch::Sender<u64>,
    fetch_wanted: Notify,
    progress: watch::Sender<Progress>,
    waiting: Semaphore,
}

/// The fetches of this process, or its reads of the file.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    started: u64,
    finished: u64,
    has_failed: bool,
}

impl KeyRing {
    /// Reads the keys from the settings or the file that they name. Those of a URL are fetched after the start.
    pub(super) fn load(config: &AuthConfig, algorithm: Algorithm) -> Result<Self, ConfigError> {
        let (source, keys) = Keys::load(config, algorithm)?;
        let shared = Shared {
            algorithm,
            keys: RwLock::new(Arc::new(keys)),
            version: watch::Sender::default(),
            fetch_wanted: Notify::new(),
            progress: watch::Sender::default(),
            waiting: Semaphore::new(MAX_WAITING),
        };
        let interval = Duration::from_secs(config.jwks_refresh_sec);
        Ok(Self { shared: Arc::new(shared), source, interval, task: OnceLock::new() })
    }

    /// Starts to follow the changes of the keys, if there is a runtime.
    pub(super) fn follow(&self, metrics: KeyMetrics) {
        let Ok(runtime) = Handle::try_current() else { return };
        let shared = Arc::clone(&self.shared);
        let task = match self.source.clone() {
            KeySource::Settings => return,
            KeySource::File(path) => runtime.spawn(follow_file(shared, path, metrics)),
            KeySource::Url(url) => runtime.spawn(follow_url(shared, url, self.interval, metrics)),
        };
        // Following twice changes nothing: the second task ends at once.
        let _ = self.task.set(AbortOnDropHandle::new(task));
    }

    /// Returns the digest of a key; `None` for a secret of the settings. It stays as it is, and not even its digest may
    /// be stored.
    pub(super) fn digest_of(&self, key: &DecodingKey) -> Option<String> {
        (!matches!(self.source, KeySource::Settings)).then(|| digest_of(key))
    }

    /// Returns once a key is no longer valid.
    pub(super) async fn removed(&self, digest: &str) {
        let mut version = self.shared.version.subscribe();
        loop {
            let keys = self.shared.keys();
            // Without keys nothing is known yet: those of a URL are fetched after the start.
            if !keys.is_empty() && !keys.contains(digest) {
                return;
            }
            if version.changed().await.is_err() {
                // Not reached: the sender lives in `self`.
                pending::<()>().await;
            }
        }
    }

    /// Returns the valid keys. If they have none for `kid`, waits until they are fetched or read once more.
    pub(super) async fn keys_for(&self, kid: Option<&str>) -> Result<Arc<Keys>, Problem> {
        // Before the keys are read: a fetch that begins after this sees what the issuer lists now.
        let started = self.shared.progress.borrow().started;
        let keys = self.shared.keys();
        let is_known = if kid.is_some() { keys.has(kid) } else { !keys.is_empty() };
        if is_known || matches!(self.source, KeySource::Settings) {
            return Ok(keys);
        }
        let Ok(_place) = self.shared.waiting.try_acquire() else {
            return Err(unavailable("too many tokens name keys that are not known"));
        };
        let fetched = timeout(MAX_KEY_WAIT, self.shared.fetched_after(started, kid)).await;
        match fetched {
            Ok(progress) => {
                let keys = self.shared.keys();
                if progress.has_failed && !keys.has(kid) {
                    return Err(unavailable("the keys of the issuer cannot be read"));
                }
                Ok(keys)
            }
            Err(_) => Err(unavailable("the keys of the issuer did not arrive in time")),
        }
    }
}

impl Shared {
    fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns once a fetch is finished that began after `started` fetches, or once the key is known.
    async fn fetched_after(&self, started: u64, kid: Option<&str>) -> Progress {
        let mut progress = self.progress.subscribe();
        self.fetch_wanted.notify_one();
        let done = progress.wait_for(|at| at.finished > started || self.keys().has(kid)).await;
        // The sender lives in `self`.
        done.map_or_else(|_| Progress::default(), |progress| *progress)
    }

    /// Records that a fetch begins, and returns the time.
    fn start(&self) -> Instant {
        self.progress.send_modify(|progress| progress.started += 1);
        Instant::now()
    }

    /// Records that the fetch is finished.
    fn finish(&self, has_failed: bool) {
        self.progress.send_modify(|progress| {
            *progress = Progress { finished: progress.started, has_failed, ..*progress };
        });
    }

    /// Waits for the next fetch: `pause` after the last one, or `shortest` if a request waits for it.
    async fn wait(&self, begun: Instant, pause: Duration, shortest: Duration) {
        tokio::select! {
            () = sleep_until(begun + pause) => {}
            () = self.fetch_wanted.notified() => sleep_until(begun + shortest).await,
        }
    }

    /// Replaces the keys by those in a text; keeps them if it has no usable ones.
    fn replace(&self, text: &[u8]) -> Result<(), String> {
        let keys = Arc::new(parse(text, self.algorithm)?);
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        self.version.send_modify(|version| *version += 1);
        Ok(())
    }
}

async fn follow_url(
    shared: Arc<Shared>,
    url: OutgoingUrl,
    interval: Duration,
    metrics: KeyMetrics,
) {
    let client = OutgoingClient::new();
    loop {
        let begun = shared.start();
        let fetched = client.get(&url).await.map_err(|error| error.to_string());
        let fetched = fetched.and_then(|body| shared.replace(&body));
        metrics.refreshed(&fetched);
        shared.finish(fetched.is_err());
        let pause = if fetched.is_err() { interval.min(RETRY_PAUSE) } else { interval };
        shared.wait(begun, pause, MIN_FETCH_PAUSE).await;
    }
}

/// Fetches the keys of an issuer once, to see whether they can be used.
pub(super) async fn fetch_keys(url: &str, algorithm: Algorithm) -> Result<(), String> {
    let url = OutgoingUrl::parse(url)?;
    let body = OutgoingClient::new().get(&url).await.map_err(|error| error.to_string())?;
    parse(&body, algorithm).map(drop)
}

/// Reads the file again and again. Its content is compared, because the time of a change may be coarse.
async fn follow_file(shared: Arc<Shared>, path: PathBuf, metrics: KeyMetrics) {
    let (mut seen, mut has_failed) = (None, false);
    loop {
        let begun = shared.start();
        let read = tokio::task::spawn_blocking({
            let path = path.clone();
            move || std::fs::read(path).map_err(|error| error.to_string())
        });
        let read = read.await.unwrap_or_else(|error| Err(error.to_string()));
        if seen.as_ref() != Some(&read) {
            let replaced =
                read.as_deref().map_err(Clone::clone).and_then(|text| shared.replace(text));
            metrics.refreshed(&replaced);
            (seen, has_failed) = (Some(read), replaced.is_err());
        }
        shared.finish(has_failed);
        shared.wait(begun, FILE_INTERVAL, MIN_READ_PAUSE).await;
    }
}

fn unavailable(detail: &str) -> Problem {
    Problem::new(ProblemKind::KEYS_UNAVAILABLE, detail).with_retry_after(MIN_FETCH_PAUSE)
}
