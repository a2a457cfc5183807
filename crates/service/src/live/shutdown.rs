use std::convert::Infallible;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// The shutdown of the process, as one connection sees it: whether it was announced and requested, and which sockets
/// must end before the connection may.
///
/// The default is never requested and tracks nothing: tests call routes without a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shutdown {
    announced: CancellationToken,
    requested: CancellationToken,
    sockets: TaskTracker,
}

impl Shutdown {
    pub(crate) fn new(announced: CancellationToken, requested: CancellationToken) -> Self {
        Self { announced, requested, sockets: TaskTracker::new() }
    }

    /// Returns whether the process will soon be asked to stop, or is. Balancers should send it nothing new.
    pub(crate) fn is_announced(&self) -> bool {
        self.announced.is_cancelled()
    }

    /// Returns once the process is asked to stop.
    pub(crate) async fn requested(&self) {
        self.requested.cancelled().await;
    }

    /// Keeps the connection alive while the token is held.
    ///
    /// A WebSocket outlives the request that opened it, so the server would otherwise not wait for it.
    pub(crate) fn track_socket(&self) -> TaskTrackerToken {
        self.sockets.token()
    }

    /// Waits until every tracked socket has ended.
    pub(crate) async fn sockets_ended(&self) {
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

/// Returns how long a client should wait before it reconnects after a shutdown.
///
/// The random part keeps thousands of clients from reconnecting to another process at the same moment.
pub(super) fn reconnect_delay() -> Duration {
    Duration::from_millis(fastrand::u64(500..3_000))
}
