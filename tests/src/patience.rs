//! Waiting for something to happen, with an end.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::time::{Instant, sleep, timeout};

/// How long anything may take that is expected to happen; only a failing test waits this long.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Looks again and again until there is something to see, and answers with it.
pub async fn until<T>(
    awaited: &str,
    mut look: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(seen) = look().await? {
            return Ok(seen);
        }
        sleep(Duration::from_millis(20)).await;
    }
    bail!("waited too long for {awaited}")
}

/// Waits for something that takes as long as it takes, but not for ever.
pub async fn within<T>(
    patience: Duration,
    awaited: &str,
    happening: impl Future<Output = T>,
) -> Result<T> {
    timeout(patience, happening).await.with_context(|| format!("waited too long for {awaited}"))
}
