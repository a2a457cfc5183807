//! Waiting for an event, with a time limit.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::time::{Instant, sleep, timeout};

/// The longest wait for an expected event; only a failing test waits this long.
pub const MAX_WAIT: Duration = Duration::from_mins(1);

/// Calls `probe` repeatedly until it returns a value, and returns that value.
pub async fn until<T>(awaited: &str, probe: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    until_within(MAX_WAIT, awaited, probe).await
}

/// Like [`until`], with a limit of its own: for what takes long on a busy machine.
pub async fn until_within<T>(
    limit: Duration,
    awaited: &str,
    mut probe: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if let Some(seen) = probe().await? {
            return Ok(seen);
        }
        sleep(Duration::from_millis(20)).await;
    }
    bail!("waited too long for {awaited}")
}

/// Waits for an event, but at most the given time.
pub async fn within<T>(
    limit: Duration,
    awaited: &str,
    happening: impl Future<Output = T>,
) -> Result<T> {
    timeout(limit, happening).await.with_context(|| format!("waited too long for {awaited}"))
}
