use anyhow::{Result, ensure};
use async_trait::async_trait;
use local_mongod::Options;
use tokio::time::sleep;

use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};

/// The primary hangs: its connections stay open and silent, until it wakes up and finds another
/// primary in its place.
#[derive(Clone, Copy, Debug)]
pub(super) enum PausePrimary {
    /// In a set whose members drop a hanging sync source at once.
    Tuned,
    /// In a set with mongod's defaults: the others wait for the hanging member.
    Untuned,
}

/// A mongod with mongod's own defaults instead of those of the tests.
pub(super) fn untuned() -> Options {
    let defaults =
        ["oplogFetcherSteadyStateMaxFetcherRestarts=1", "oplogNetworkTimeoutBufferSeconds=5"];
    let set = defaults.map(|default| ["--setParameter", default].map(str::to_owned));
    Options { extra_arguments: set.concat(), ..Options::for_tests() }
}

#[async_trait(?Send)]
impl Fault for PausePrimary {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let term = cluster.term().await?;
        let t0 = scene.now();
        let paused = cluster.primary().await?;
        paused.pause()?;
        let hanging = match self {
            Self::Tuned => scene.lasting(6, 10),
            Self::Untuned => scene.lasting(6, 20),
        };
        sleep(hanging).await;
        let successor = cluster.primary().await?;
        ensure!(successor.port() != paused.port(), "a paused member is primary");
        let elections = cluster.term().await? - term;
        scene.struck("primary paused", (t0, scene.now()), u64::try_from(elections)?)?;
        paused.resume()?;
        Ok(cluster.set().restart().await?)
    }
}
