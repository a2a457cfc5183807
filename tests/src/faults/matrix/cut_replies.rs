use anyhow::Result;
use async_trait::async_trait;
use local_mongod::Cut;

use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};
use crate::waiting::until;

/// Replies are cut at random places, and their connections are closed or reset.
pub(super) struct CutReplies;

/// The commands of appends, reads, change streams and sealing.
const COMMANDS: [&str; 4] = ["findAndModify", "find", "getMore", "update"];
/// Within the header of a reply, or within its body: every reply is longer.
const SHORTEST: usize = 60;

#[async_trait(?Send)]
impl Fault for CutReplies {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let proxy = cluster.proxy()?;
        for command in COMMANDS {
            for is_reset in [false, true] {
                let t0 = scene.now();
                let after_bytes = scene.rng.usize(1..SHORTEST);
                proxy.cut_replies(command, 1, Cut { after_bytes, is_reset });
                until("a reply to cut", async || Ok((proxy.lost() == 1).then_some(()))).await?;
                scene.struck(&format!("reply to {command} cut"), (t0, scene.now()), 1)?;
                scene.workload.progress().more_acknowledged(10).await?;
            }
        }
        Ok(())
    }
}
