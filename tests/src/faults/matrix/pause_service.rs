use anyhow::Result;
use async_trait::async_trait;
use tokio::time::sleep;

use crate::faults::checker::{Finding, Kind};
use crate::faults::cluster::Cluster;
use crate::faults::fault::{Evidence, Fault, Scene};

/// One of two services hangs while its callers switch to the other, and then finishes what it had begun.
pub(super) struct PauseService;

const PAUSED: &str = "service paused";

#[async_trait(?Send)]
impl Fault for PauseService {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let hosts = cluster.hosts();
        let service = hosts[scene.rng.usize(..hosts.len())].service()?;
        let t0 = scene.now();
        service.pause()?;
        let paused = scene.lasting(5, 10);
        sleep(paused).await;
        scene.struck(PAUSED, (t0, scene.now()), 1)?;
        service.resume()
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        let unheard = |window: &_| evidence.refused(*window, "timeout") == 0;
        let without = evidence.windows(PAUSED).filter(unheard);
        without
            .map(|_| Finding::of(Kind::DidNotFire, "no client noticed the paused service"))
            .collect()
    }
}
