use std::convert::Infallible;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Whether the process is asked to stop, and who is to be waited for before it does.
///
/// Nobody ever asks, and nobody waits, where a connection has not said so.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shutdown {
    asked: CancellationToken,
    sockets: TaskTracker,
}

impl Shutdown {
    pub(crate) fn new(asked: CancellationToken) -> Self {
        Self { asked, sockets: TaskTracker::new() }
    }

    /// Returns when the process is asked to stop.
    pub(crate) async fn asked(&self) {
        self.asked.cancelled().await;
    }

    /// Keeps the connection from ending while what is returned lives: a socket outlives the request
    /// that opened it.
    pub(crate) fn hold(&self) -> TaskTrackerToken {
        self.sockets.token()
    }

    /// Waits for everything that is held.
    pub(crate) async fn released(&self) {
        self.sockets.close();
        self.sockets.wait().await;
    }
}

impl<S: Sync> FromRequestParts<S> for Shutdown {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().cloned().unwrap_or_default())
    }
}

/// When to come back after a shutdown: not all at once.
pub(super) fn retry_after() -> Duration {
    Duration::from_millis(fastrand::u64(500..3_000))
}
