//! A service that stops and starts again on another port.

use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use mongodb::bson::doc;
use tokio::time::sleep;

use crate::faults::checker::{Finding, Kind};
use crate::faults::cluster::{Cluster, FailPoint, SERVICE};
use crate::faults::fault::{Evidence, Fault, Scene, Window, is_request};

/// One of the services is killed in the middle of its work.
pub(super) struct KillService;

/// One of the services is asked to stop while it has unfinished requests.
pub(super) struct DrainService;

#[async_trait(?Send)]
impl Fault for KillService {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let moment = Duration::from_millis(scene.rng.u64(..200));
        sleep(moment).await;
        let hosts = cluster.hosts();
        let host = &mut hosts[scene.rng.usize(..hosts.len())];
        let t0 = scene.now();
        host.kill().await?;
        let gone = scene.lasting(1, 3);
        sleep(gone).await;
        scene.struck("service gone", (t0, scene.now()), u64::from(host.service().is_err()))?;
        host.start_again().await
    }
}

const DRAINED: &str = "service asked to stop";
/// How much requests are slowed down, so that some are certainly running; and for how long after the
/// request to stop, so that the slowness does not use up their deadlines.
const SLOW: Duration = Duration::from_millis(400);
/// Requests that began this long before have certainly been accepted.
const ACCEPTED: Duration = Duration::from_millis(100);

#[async_trait(?Send)]
impl Fault for DrainService {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let data = doc! {
            "failCommands": ["findAndModify", "find"], "appName": SERVICE,
            "blockConnection": true, "blockTimeMS": i64::try_from(SLOW.as_millis())?,
        };
        let primary = cluster.primary().await?;
        let slow = FailPoint::set(primary, "failCommand", "alwaysOn", data).await?;
        sleep(SLOW / 2).await;
        let hosts = cluster.hosts();
        let host = &mut hosts[scene.rng.usize(..hosts.len())];
        let t0 = scene.now();
        let not_slow = async {
            sleep(SLOW).await;
            slow.off().await
        };
        // Fails unless the service exits successfully.
        let (ended, fired) = tokio::join!(host.terminate(), not_slow);
        ended?;
        scene.struck(DRAINED, (t0, scene.now()), fired?)?;
        host.start_again().await
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        evidence.windows(DRAINED).flat_map(|window| unanswered(evidence, window)).collect()
    }
}

/// A service finishes the requests it has accepted, even if it is asked to stop meanwhile.
fn unanswered(evidence: &Evidence<'_>, (asked, _): Window) -> Vec<Finding> {
    let under_way = evidence.history.records.iter().filter(|record| {
        is_request(record) && record.t0.plus(ACCEPTED) < asked && record.t1 > asked
    });
    let refusals: Vec<_> = under_way.map(|record| record.operation.refusal()).collect();
    let mut findings = Vec::new();
    if refusals.is_empty() {
        findings.push(Finding::of(Kind::DidNotFire, "no request was running"));
    }
    for refusal in refusals.into_iter().flatten() {
        let detail = format!("a request that was accepted was answered with {}", refusal.code);
        findings.push(Finding::of(Kind::Fault, detail));
    }
    findings
}
