use anyhow::Result;
use async_trait::async_trait;
use local_mongod::Member;
use tokio::time::sleep;

use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};

/// Some secondaries are killed, and started again.
#[derive(Clone, Copy, Debug)]
pub(super) enum KillSecondaries {
    /// One: a majority remains.
    One,
    /// Both: the primary remains alone and must step down.
    Both,
}

#[async_trait(?Send)]
impl Fault for KillSecondaries {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let mut secondaries = cluster.secondaries().await?;
        scene.rng.shuffle(&mut secondaries);
        let killed = match self {
            Self::One => &secondaries[..1],
            Self::Both => &secondaries[..],
        };
        let t0 = scene.now();
        for member in killed {
            member.kill_hard().await?;
        }
        let down = scene.lasting(5, 10);
        sleep(down).await;
        let are_down = killed.iter().filter(|member| Member::pid(member).is_none()).count();
        scene.struck("secondaries down", (t0, scene.now()), are_down as u64)?;
        Ok(cluster.set().restart().await?)
    }
}
