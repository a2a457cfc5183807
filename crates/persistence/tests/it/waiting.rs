//! Waiting for what a background task does, with a time limit.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The longest wait; only a failing test waits this long.
const MAX_WAIT: Duration = Duration::from_mins(1);

/// Waits until a condition holds. A test that waits forever would stop all others without a word.
pub(crate) async fn until(awaited: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < MAX_WAIT, "waited too long for {awaited}");
        sleep(Duration::from_millis(5)).await;
    }
}
