use std::time::Duration;

use anyhow::{Result, ensure};
use async_trait::async_trait;
use tokio::time::sleep;

use crate::faults::cluster::{Cluster, Stall};
use crate::faults::fault::{Fault, Scene};

/// Kills the primary, waits until the others have elected another, and starts it again.
#[derive(Clone, Copy, Debug)]
pub(super) enum KillPrimary {
    /// While the secondaries are up to date.
    Followed,
    /// When it has applied writes that the secondaries have not, and must roll them back.
    Ahead,
}

/// How far the primary may get ahead.
const AHEAD: Duration = Duration::from_millis(300);

#[async_trait(?Send)]
impl Fault for KillPrimary {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let term = cluster.term().await?;
        let killed = cluster.primary().await?;
        let t0 = match self {
            Self::Followed => {
                killed.kill_hard().await?;
                scene.now()
            }
            Self::Ahead => {
                let stall = Stall::fetching(cluster).await?;
                sleep(AHEAD).await;
                killed.kill_hard().await?;
                let t0 = scene.now();
                stall.end().await?;
                t0
            }
        };
        ensure!(killed.pid().is_none(), "the primary survived");
        let successor = cluster.primary().await?;
        ensure!(successor.port() != killed.port(), "a dead member is primary");
        let elections = cluster.term().await? - term;
        let alone = scene.lasting(1, 5);
        sleep(alone).await;
        scene.struck("primary down", (t0, scene.now()), u64::try_from(elections)?)?;
        Ok(cluster.set().restart().await?)
    }
}
