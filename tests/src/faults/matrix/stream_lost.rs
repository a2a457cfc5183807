use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use futures::TryStreamExt as _;
use mongodb::bson::{Bson, Document, doc};

use crate::faults::cluster::{Cluster, FailPoint, SERVICE};
use crate::faults::fault::{Fault, Scene};
use crate::waiting::until;

/// The change streams of the services fail more often than the driver resumes them, and the server kills
/// their cursors.
pub(super) struct StreamLost;

/// The errors: lost history, lost position, lost cursor, and an event that is too large.
const CODES: [i32; 4] = [286, 136, 43, 10_334];
/// Failures in a row, for two services.
const TIMES: i32 = 6;
/// A getMore waits for a second if there is no event.
const MAX_WAIT: Duration = Duration::from_secs(20);

#[async_trait(?Send)]
impl Fault for StreamLost {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        for code in CODES {
            let data = doc! { "failCommands": ["getMore"], "appName": SERVICE, "errorCode": code };
            let t0 = scene.now();
            let primary = cluster.primary().await?;
            let mode = doc! { "times": TIMES };
            let point = FailPoint::set(primary, "failCommand", mode, data).await?;
            point.met(TIMES.into(), MAX_WAIT).await?;
            let fired = point.off().await?;
            scene.struck(&format!("getMore failing with {code}"), (t0, scene.now()), fired)?;
        }
        let t0 = scene.now();
        let killed = until("a change stream to kill", async || {
            let killed = kill_streams(cluster).await?;
            Ok((killed > 0).then_some(killed))
        })
        .await?;
        scene.struck("change streams killed", (t0, scene.now()), killed)?;
        scene.workload.progress().more_acknowledged(20).await
    }
}

/// Kills the cursors of all change streams, and returns how many there were.
pub(super) async fn kill_streams(cluster: &Cluster) -> Result<u64> {
    let server = mongodb::Client::with_uri_str(cluster.primary().await?.uri()).await?;
    let is_stream =
        doc! { "cursor.originatingCommand.pipeline.$changeStream": { "$exists": true } };
    let look = [doc! { "$currentOp": { "idleCursors": true } }, doc! { "$match": is_stream }];
    let found = server.database("admin").aggregate(look).await?;
    let streams: Vec<Document> = found.try_collect().await?;
    let ids =
        streams.iter().filter_map(|stream| stream.get_document("cursor").ok()?.get("cursorId"));
    let ids: Vec<Bson> = ids.cloned().collect();
    if ids.is_empty() {
        return Ok(0);
    }
    let kill = doc! { "killCursors": "$cmd.aggregate", "cursors": ids };
    let reply = server.database(cluster.database().name()).run_command(kill).await?;
    Ok(reply.get_array("cursorsKilled")?.len() as u64)
}
