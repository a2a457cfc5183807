//! Waiting with a deadline.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Error;

/// The moment at which waiting ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(patience: Duration) -> Self {
        Self(Instant::now() + patience)
    }

    /// Waits a moment before the next check of `awaited`, or fails when time is up.
    pub(crate) async fn pause(self, awaited: impl FnOnce() -> String) -> Result<(), Error> {
        if Instant::now() >= self.0 {
            return Err(Error::Timeout { awaited: awaited() });
        }
        sleep(Duration::from_millis(25)).await;
        Ok(())
    }
}
