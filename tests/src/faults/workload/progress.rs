use anyhow::Result;
use tokio::sync::watch;

use crate::waiting::{MAX_WAIT, within};

/// The progress of the clients.
#[derive(Debug, Default)]
pub struct Progress {
    acknowledged: watch::Sender<u64>,
    refused: watch::Sender<u64>,
}

impl Progress {
    pub(super) fn acknowledged(&self) {
        self.acknowledged.send_modify(|count| *count += 1);
    }

    pub(super) fn refused(&self) {
        self.refused.send_modify(|count| *count += 1);
    }

    /// Waits until `count` more appends have been acknowledged.
    pub async fn more_acknowledged(&self, count: u64) -> Result<()> {
        wait_for_more(&self.acknowledged, count, "appends to be acknowledged").await
    }

    /// Waits until `count` more appends have ended without an acknowledgement.
    pub async fn more_refused(&self, count: u64) -> Result<()> {
        wait_for_more(&self.refused, count, "appends to be refused").await
    }
}

async fn wait_for_more(counter: &watch::Sender<u64>, count: u64, awaited: &str) -> Result<()> {
    let mut counter = counter.subscribe();
    let enough = *counter.borrow_and_update() + count;
    within(MAX_WAIT, awaited, counter.wait_for(|now| *now >= enough)).await??;
    Ok(())
}
