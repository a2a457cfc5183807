use std::time::Duration;

use anyhow::Result;
use mongodb::bson::doc;

use super::{Cluster, FailPoint};

/// Secondaries that stop replicating, so that no new write reaches the majority.
#[derive(Debug)]
pub struct Stall(Vec<FailPoint>);

impl Stall {
    /// Stops all secondaries from applying entries, and waits until they have stopped.
    pub async fn applying(cluster: &Cluster) -> Result<Self> {
        Self::at("rsSyncApplyStop", cluster).await
    }

    /// Stops all secondaries from fetching entries, so that later writes are lost if the primary is
    /// killed, and waits until they have stopped.
    pub async fn fetching(cluster: &Cluster) -> Result<Self> {
        Self::at("stopReplProducer", cluster).await
    }

    async fn at(name: &'static str, cluster: &Cluster) -> Result<Self> {
        let mut points = Vec::new();
        for secondary in cluster.secondaries().await? {
            points.push(FailPoint::set(secondary, name, "alwaysOn", doc! {}).await?);
        }
        for point in &points {
            point.met(1, Duration::from_secs(5)).await?;
        }
        Ok(Self(points))
    }

    /// Resumes replication, and returns at how many places it had stopped.
    pub async fn end(self) -> Result<u64> {
        let mut stalled = 0;
        for point in self.0 {
            stalled += u64::from(point.off().await? > 0);
        }
        Ok(stalled)
    }
}
