use anyhow::{Result, ensure};
use async_trait::async_trait;
use mongodb::bson::doc;
use tokio::time::sleep;

use crate::faults::cluster::{Cluster, command};
use crate::faults::fault::{Fault, Scene};

/// The primary is asked to stop, and takes as long as by default: another member is elected at once, and
/// the old primary continues to respond for a while.
pub(super) struct TerminatePrimary;

/// mongod's default, in milliseconds.
const QUIESCE: i32 = 15_000;

#[async_trait(?Send)]
impl Fault for TerminatePrimary {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let term = cluster.term().await?;
        let primary = cluster.primary().await?;
        let quiesce = "shutdownTimeoutMillisForSignaledShutdown";
        command(primary, doc! { "setParameter": 1, quiesce: QUIESCE }).await?;
        let t0 = scene.now();
        primary.terminate()?;
        let stopping = scene.lasting(6, 18);
        sleep(stopping).await;
        let successor = cluster.primary().await?;
        ensure!(successor.port() != primary.port(), "a member that stops is primary");
        let elections = cluster.term().await? - term;
        scene.struck("primary stopping", (t0, scene.now()), u64::try_from(elections)?)?;
        if primary.pid().is_some() {
            primary.kill_hard().await?;
        }
        Ok(cluster.set().restart().await?)
    }
}
