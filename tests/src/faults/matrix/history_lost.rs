use std::time::Duration;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use local_mongod::Options;
use mongodb::bson::{Document, Timestamp, doc};
use tokio::time::sleep;

use super::stream_lost::kill_streams;
use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};
use crate::waiting::until;

/// One of two services hangs until the server's oplog no longer has the next event of its change
/// stream.
#[derive(Debug)]
pub(super) struct HistoryLost {
    loss: Loss,
    strikes: u32,
}

/// What the server has forgotten when the service wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// The position of its cursor (136, or 286).
    Position,
    /// Its cursor, and the position of the resume token (286).
    Token,
}

impl HistoryLost {
    pub(super) fn of(loss: Loss) -> Self {
        Self { loss, strikes: 0 }
    }
}

/// More than the oplog holds.
const MESSAGES: usize = 320;
const BYTES: usize = 64 << 10;

/// The service that hangs. Subscribers with a WebSocket there stay connected until it wakes up; without
/// a subscriber there would be no change stream to lose.
const PAUSED: usize = 0;

/// How long the server waits for an event on behalf of a service that hangs meanwhile.
const UNDER_WAY: Duration = Duration::from_secs(1);
/// How long the server keeps its oplog at least.
const CHECKPOINT: Duration = Duration::from_secs(1);

/// A mongod that truncates its oplog soon: the smallest oplog, and a checkpoint every second, because only
/// entries before a checkpoint are removed.
pub(super) fn forgetful() -> Options {
    let extra_arguments = ["--syncdelay", "1"].map(str::to_owned).to_vec();
    Options { oplog_size_mb: 8, extra_arguments, ..Options::for_tests() }
}

#[async_trait(?Send)]
impl Fault for HistoryLost {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        self.strikes += 1;
        let lost_before = lost(cluster)?;
        let t0 = scene.now();
        cluster.hosts()[PAUSED].service()?.pause()?;
        sleep(UNDER_WAY).await;
        let newest = operation(cluster, -1).await?;
        let chat = scene.workload.chats()[0].clone();
        let mut grower = scene.grower(self.strikes)?;
        until("the server to forget", async || {
            if operation(cluster, 1).await? > newest {
                return Ok(Some(()));
            }
            grower.grow(scene.workload, &chat, MESSAGES, BYTES, 16).await?;
            sleep(CHECKPOINT).await;
            Ok(None)
        })
        .await?;
        grower.finish()?;
        if self.loss == Loss::Token {
            kill_streams(cluster).await?;
        }
        cluster.hosts()[PAUSED].service()?.resume()?;
        until("the service to lose its change stream", async || {
            Ok((lost(cluster)? > lost_before).then_some(()))
        })
        .await?;
        let times = lost(cluster)? - lost_before;
        scene.struck("history lost", (t0, scene.now()), times as u64)
    }
}

/// The time of the oldest (1) or newest (-1) operation in the oplog.
async fn operation(cluster: &Cluster, order: i32) -> Result<Timestamp> {
    let server = mongodb::Client::with_uri_str(cluster.primary().await?.uri()).await?;
    let log = server.database("local").collection::<Document>("oplog.rs");
    let operation = log.find_one(doc! {}).sort(doc! { "$natural": order }).await?;
    Ok(operation.context("there is no operation")?.get_timestamp("ts")?)
}

/// How often the service has lost its change stream this way. Which of the two errors it gets depends on
/// whether its connection has outlived the pause.
fn lost(cluster: &mut Cluster) -> Result<usize> {
    let logged = cluster.hosts()[PAUSED].service()?.logged()?;
    let codes = ["CappedPositionLost", "ChangeStreamHistoryLost"];
    Ok(codes.iter().map(|code| logged.matches(code).count()).sum())
}
