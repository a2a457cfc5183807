use anyhow::{Result, ensure};
use async_trait::async_trait;
use tokio::time::sleep;

use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};

/// Kills the primary, waits until the others have elected another, and starts it again.
pub(super) struct KillPrimary;

#[async_trait(?Send)]
impl Fault for KillPrimary {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let term = cluster.term().await?;
        let t0 = scene.now();
        let killed = cluster.primary().await?;
        killed.kill_hard().await?;
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
