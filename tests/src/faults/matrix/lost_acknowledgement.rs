//! Writes that are carried out, and whose acknowledgement never arrives.

use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use mongodb::bson::doc;
use tokio::time::sleep;

use crate::faults::cluster::{Cluster, FailPoint, SERVICE};
use crate::faults::fault::{Fault, Scene};

/// Closes the connection after a write, so that the driver has to try again.
pub(super) struct LostOnce;

/// Closes the connection after a write, and at the driver's second try, so that the service has to
/// find out.
pub(super) struct LostTwice;

/// After a write is carried out and before it is answered.
const AFTER_THE_WRITE: &str = "onPrimaryTransactionalWrite";
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the driver may take to try again: it looks for the server every half second.
const SECOND_TRY: Duration = Duration::from_millis(800);

#[async_trait(?Send)]
impl Fault for LostOnce {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let primary = cluster.primary().await?;
        for _ in 0..3 {
            let t0 = scene.now();
            let close = doc! { "closeConnection": true };
            let once = doc! { "times": 1 };
            let lost = FailPoint::set(primary, AFTER_THE_WRITE, once, close).await?;
            lost.met(1, PATIENCE).await?;
            let fired = lost.off().await?;
            scene.struck("acknowledgement lost", (t0, scene.now()), fired)?;
            scene.workload.progress().more_acknowledged(20).await?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl Fault for LostTwice {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let primary = cluster.primary().await?;
        let t0 = scene.now();
        let close = doc! { "closeConnection": true };
        let again = doc! {
            "failCommands": ["findAndModify"], "closeConnection": true, "appName": SERVICE,
        };
        let lost = FailPoint::set(primary, AFTER_THE_WRITE, doc! { "times": 1 }, close).await?;
        // The first one that comes is to get through, and be lost.
        let cut = FailPoint::set(primary, "failCommand", doc! { "skip": 1 }, again).await?;
        lost.met(1, PATIENCE).await?;
        sleep(SECOND_TRY).await;
        let (lost, cut) = (lost.off().await?, cut.off().await?);
        scene.struck("acknowledgement lost", (t0, scene.now()), lost)?;
        scene.struck("second try cut", (t0, scene.now()), cut)
    }
}
