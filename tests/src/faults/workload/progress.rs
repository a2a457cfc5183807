use anyhow::Result;
use tokio::sync::watch;

use crate::waiting::{MAX_WAIT, within};

/// The progress of the clients.
#[derive(Debug, Default)]
pub struct Progress {
    acknowledged: watch::Sender<u64>,
}

impl Progress {
    pub(super) fn acknowledged(&self) {
        self.acknowledged.send_modify(|count| *count += 1);
    }

    /// Waits until `count` more appends have been acknowledged.
    pub async fn more_acknowledged(&self, count: u64) -> Result<()> {
        let mut counter = self.acknowledged.subscribe();
        let enough = *counter.borrow_and_update() + count;
        let reached = counter.wait_for(|now| *now >= enough);
        within(MAX_WAIT, "appends to be acknowledged", reached).await??;
        Ok(())
    }
}
