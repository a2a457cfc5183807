use anyhow::Result;
use async_trait::async_trait;
use tokio::time::sleep;

use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};

/// Breaks nothing: every finding is an error of the service or of the checker.
pub(super) struct Control;

#[async_trait(?Send)]
impl Fault for Control {
    async fn strike(&mut self, _cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let t0 = scene.now();
        let calm = scene.lasting(3, 10);
        sleep(calm).await;
        scene.struck("nothing", (t0, scene.now()), 1)
    }
}
