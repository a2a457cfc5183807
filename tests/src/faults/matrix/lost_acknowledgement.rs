//! Writes that are applied and whose acknowledgement never arrives.

use anyhow::Result;
use async_trait::async_trait;

use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};
use crate::waiting::until;

/// Closes the connection of a write that was applied, so that the service must find out.
pub(super) struct LostOnce;

/// Does so repeatedly, so that the next attempt of the service gets no reply either.
pub(super) struct LostTwice;

/// The command of an append on its own.
const APPEND: &str = "findAndModify";
/// The command of appends that share one, of the second half of a large append, and of the cut of a sealing.
const UPDATE: &str = "update";
/// Enough for each concurrently written chat to lose two replies in a row. One chat may lose all six,
/// which takes half a second for each: the driver waits that long before it checks a server again that
/// closed a connection.
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
