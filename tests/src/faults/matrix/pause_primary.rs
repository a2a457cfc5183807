use anyhow::{Result, ensure};
use async_trait::async_trait;
use tokio::time::sleep;

use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};

/// The primary hangs: its connections stay open and silent, until it wakes up and finds another
/// primary in its place.
pub(super) struct PausePrimary;

#[async_trait(?Send)]
impl Fault for PausePrimary {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let term = cluster.term().await?;
        let t0 = scene.now();
        let paused = cluster.primary().await?;
        paused.pause()?;
        let hanging = scene.lasting(6, 10);
        sleep(hanging).await;
        let successor = cluster.primary().await?;
        ensure!(successor.port() != paused.port(), "a paused member is primary");
        let elections = cluster.term().await? - term;
        scene.struck("primary paused", (t0, scene.now()), u64::try_from(elections)?)?;
        paused.resume()?;
        Ok(cluster.set().restart().await?)
    }
}
