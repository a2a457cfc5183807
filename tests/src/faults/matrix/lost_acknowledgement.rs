//! Writes that are carried out, and whose acknowledgement never arrives.

use anyhow::Result;
use async_trait::async_trait;

use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};
use crate::patience::until;

/// Closes the connection of a write that was carried out, so that the service has to find out.
pub(super) struct LostOnce;

/// Does so again and again, so that the service cannot find out by its next attempt either.
pub(super) struct LostTwice;

/// How an append by itself is called on the wire.
const APPEND: &str = "findAndModify";
/// Appends that share a command, the second half of a large one, and the cut of a sealing.
const UPDATE: &str = "update";
/// Enough for each of the chats that are written to at the same time to lose two in a row. One chat
/// may lose all six, which takes half a second for each: the driver asks about a server that hung up
/// on it no sooner than that.
const IN_A_ROW: usize = 6;

#[async_trait(?Send)]
impl Fault for LostOnce {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        for command in [APPEND, UPDATE, APPEND, UPDATE] {
            lose(command, 1, cluster, scene).await?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl Fault for LostTwice {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        lose(APPEND, IN_A_ROW, cluster, scene).await
    }
}

async fn lose(
    command: &'static str,
    times: usize,
    cluster: &Cluster,
    scene: &mut Scene<'_>,
) -> Result<()> {
    let proxy = cluster.proxy()?;
    let t0 = scene.now();
    proxy.lose_replies(command, times);
    let lost = async || Ok((proxy.lost() == times).then_some(()));
    until("acknowledgements to be lost", lost).await?;
    scene.struck("acknowledgement lost", (t0, scene.now()), times as u64)?;
    scene.workload.progress().more_acknowledged(20).await
}
