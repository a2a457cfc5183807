use anyhow::Result;
use async_trait::async_trait;
use mongodb::bson::doc;
use tokio::time::sleep;

use crate::faults::cluster::{Cluster, FailPoint};
use crate::faults::fault::{Fault, Scene};

/// Every fifth write meets a conflict in the storage engine.
pub(super) struct EngineConflicts;

#[async_trait(?Send)]
impl Fault for EngineConflicts {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let t0 = scene.now();
        let primary = cluster.primary().await?;
        let mode = doc! { "activationProbability": 0.2 };
        let point = FailPoint::set(primary, "WTWriteConflictException", mode, doc! {}).await?;
        let conflicting = scene.lasting(3, 10);
        sleep(conflicting).await;
        let fired = point.off().await?;
        scene.struck("engine conflicts", (t0, scene.now()), fired)
    }
}
