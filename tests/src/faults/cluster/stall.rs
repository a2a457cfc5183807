use std::time::Duration;

use anyhow::Result;
use mongodb::bson::doc;

use super::{Cluster, FailPoint};

/// Secondaries that take nothing over, so that nothing new is known to the majority.
#[derive(Debug)]
pub struct Stall(Vec<FailPoint>);

impl Stall {
    /// Has all secondaries apply nothing, and waits until they stand still.
    pub async fn applying(cluster: &Cluster) -> Result<Self> {
        Self::at("rsSyncApplyStop", cluster).await
    }

    /// Has all secondaries fetch nothing, so that they never hear of what follows if the primary
    /// goes, and waits until they stand still.
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

    /// Lets them go on, and answers at how many places replication stood still.
    pub async fn end(self) -> Result<u64> {
        let mut stalled = 0;
        for point in self.0 {
            stalled += u64::from(point.off().await? > 0);
        }
        Ok(stalled)
    }
}
