use std::time::Duration;

use anyhow::Result;
use mongodb::bson::doc;

use super::{Cluster, FailPoint};

/// Secondaries that take nothing over, so that nothing new is known to the majority.
#[derive(Debug)]
pub struct Stall(Vec<FailPoint>);

impl Stall {
    /// Stops all secondaries, and waits until they stand still.
    pub async fn begin(cluster: &Cluster) -> Result<Self> {
        let mut points = Vec::new();
        for secondary in cluster.secondaries().await? {
            points.push(FailPoint::set(secondary, "rsSyncApplyStop", "alwaysOn", doc! {}).await?);
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
