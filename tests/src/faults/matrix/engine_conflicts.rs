use anyhow::Result;
use async_trait::async_trait;
use mongodb::bson::doc;
use tokio::time::sleep;

use crate::faults::cluster::{Cluster, FailPoint};
use crate::faults::fault::{Fault, Scene};

/// Every fiftieth operation of the storage engine fails with a conflict.
///
/// Storing a segment takes more than forty operations, one for each message in the index of event ids,
/// and all are repeated when one fails. If every fifth failed, no segment could ever be stored.
pub(super) struct EngineConflicts;

#[async_trait(?Send)]
impl Fault for EngineConflicts {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let t0 = scene.now();
        let primary = cluster.primary().await?;
        let mode = doc! { "activationProbability": 0.02 };
        let point = FailPoint::set(primary, "WTWriteConflictException", mode, doc! {}).await?;
        let conflicting = scene.lasting(3, 10);
        sleep(conflicting).await;
        let fired = point.off().await?;
        scene.struck("engine conflicts", (t0, scene.now()), fired)
    }
}
