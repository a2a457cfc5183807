use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use mongodb::bson::doc;
use tokio::time::sleep;

use crate::faults::cluster::{Cluster, command};
use crate::faults::fault::{Fault, Scene};
use crate::waiting::until;

/// The primary steps down in favour of another member, twice.
pub(super) struct StepDown;

#[async_trait(?Send)]
impl Fault for StepDown {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        for _ in 0..2 {
            let term = cluster.term().await?;
            let t0 = scene.now();
            // Short, so that members that stepped down before can be elected again.
            let step_down = doc! { "replSetStepDown": 2, "secondaryCatchUpPeriodSecs": 1 };
            command(cluster.primary().await?, step_down).await?;
            let elected = async || Ok(cluster.term().await.ok().filter(|now| *now > term));
            let now = until("an election", elected).await?;
            scene.struck("primary stepped down", (t0, scene.now()), u64::try_from(now - term)?)?;
            let ruling = scene.lasting(2, 5).max(Duration::from_secs(2));
            sleep(ruling).await;
        }
        Ok(())
    }
}
