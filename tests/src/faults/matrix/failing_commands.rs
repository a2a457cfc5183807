//! Commands that fail before they are executed.

use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use mongodb::bson::doc;

use crate::faults::cluster::{Cluster, FailPoint, SERVICE};
use crate::faults::fault::{Fault, Scene};

/// The way in which commands fail.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failure {
    /// With one of these codes.
    Codes(&'static [i32]),
    /// The connection is closed.
    Cut,
}

/// Makes each command that the service uses fail, several times in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailingCommands {
    pub(super) failure: Failure,
    pub(super) commands: &'static [&'static str],
    pub(super) times: i32,
}

/// The commands that appends, reads and sealing use.
pub(super) const ALL: &[&str] = &["findAndModify", "find", "insert", "update"];
/// The commands that callers wait for.
pub(super) const AWAITED: &[&str] = &["findAndModify", "find"];

/// The longest time in which a command may not be used; sealing runs no command while chats are quiet.
const MAX_WAIT: Duration = Duration::from_secs(20);

#[async_trait(?Send)]
impl Fault for FailingCommands {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let primary = cluster.primary().await?;
        for command in self.commands {
            let mut data = doc! { "failCommands": [command], "appName": SERVICE };
            match self.failure {
                Failure::Codes(codes) => {
                    data.insert("errorCode", scene.rng.choice(codes).copied());
                }
                Failure::Cut => {
                    data.insert("closeConnection", true);
                }
            }
            let t0 = scene.now();
            let mode = doc! { "times": self.times };
            let point = FailPoint::set(primary, "failCommand", mode, data).await?;
            point.met(self.times.into(), MAX_WAIT).await?;
            let fired = point.off().await?;
            scene.struck(&format!("{command} failing"), (t0, scene.now()), fired)?;
        }
        Ok(())
    }
}
