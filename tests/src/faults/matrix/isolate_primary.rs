use anyhow::{Result, ensure};
use async_trait::async_trait;
use tokio::time::sleep;

use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};
use crate::waiting::until;

/// The primary is cut off from the other members and from the services. The others elect a new primary,
/// and the old one is outdated when it is connected again.
pub(super) struct IsolatePrimary;

#[async_trait(?Send)]
impl Fault for IsolatePrimary {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let term = cluster.term().await?;
        let isolated = cluster.primary().await?;
        let t0 = scene.now();
        cluster.isolate(isolated);
        let alone = scene.lasting(6, 10);
        sleep(alone).await;
        let primary = until("another primary", async || {
            // The member may just have changed its role.
            let primary = cluster.primary().await.ok();
            Ok(primary.filter(|primary| primary.port() != isolated.port()))
        });
        primary.await?;
        let later = until("its term", async || Ok(cluster.term().await.ok())).await?;
        let elections = later - term;
        let withheld = cluster.join();
        ensure!(withheld > 0, "no member was isolated");
        scene.struck("primary isolated", (t0, scene.now()), u64::try_from(elections)?)?;
        Ok(cluster.set().restart().await?)
    }
}
