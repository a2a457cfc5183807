//! Waiting with an end.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Error;

/// A moment after which waiting is given up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(patience: Duration) -> Self {
        Self(Instant::now() + patience)
    }

    /// Waits a moment before the next look at `awaited`, or fails when time is up.
    pub(crate) async fn pause(self, awaited: impl FnOnce() -> String) -> Result<(), Error> {
        if Instant::now() >= self.0 {
            return Err(Error::Timeout { awaited: awaited() });
        }
        sleep(Duration::from_millis(25)).await;
        Ok(())
    }
}
