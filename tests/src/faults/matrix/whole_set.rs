use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use tokio::time::sleep;

use crate::faults::checker::{Finding, Kind};
use crate::faults::cluster::Cluster;
use crate::faults::fault::{Evidence, Fault, Scene, Window};
use crate::faults::history::{HealthProbe, Operation};

/// All members are killed, and started again after a while.
pub(super) struct WholeSet;

const DOWN: &str = "whole set down";
/// The longest time until the service notices.
const NOTICE: Duration = Duration::from_secs(3);

#[async_trait(?Send)]
impl Fault for WholeSet {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let pids = cluster.hosts().iter().map(|host| host.service()?.pid());
        let pids: Vec<_> = pids.collect::<Result<_>>()?;
        let t0 = scene.now();
        cluster.set().kill_hard().await?;
        let down = scene.lasting(8, 15);
        sleep(down).await;
        let are_down = cluster.set().members().iter().filter(|member| member.pid().is_none());
        scene.struck(DOWN, (t0, scene.now()), are_down.count() as u64)?;
        cluster.set().restart().await?;
        scene.workload.progress().more_acknowledged(10).await?;
        let survivors = cluster.hosts().iter().map(|host| host.service()?.pid());
        if survivors.collect::<Result<Vec<_>>>()? != pids {
            scene.findings.push(Finding::of(Kind::Fault, "a service did not survive"));
        }
        Ok(())
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        evidence.windows(DOWN).flat_map(|window| judge(evidence, window)).collect()
    }
}

/// The service stays alive, reports that it is not ready, and asks callers to retry.
fn judge(evidence: &Evidence<'_>, (from, to): Window) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |detail: &str| findings.push(Finding::of(Kind::Fault, detail));
    let probes = |window| {
        evidence.within(window).filter_map(|record| match &record.operation {
            Operation::Health(probe) => Some(probe),
            _ => None,
        })
    };
    let is_dead = |probe: &HealthProbe| probe.live.ok().is_none();
    let is_ready = |probe: &HealthProbe| probe.ready.ok().is_some();
    if probes((from, to)).any(is_dead) {
        report("a service said that it did not live");
    }
    let noticed = (from.plus(NOTICE), to);
    if probes(noticed).any(is_ready) {
        report("a service said that it was ready without a store");
    }
    if probes(noticed).next().is_none() {
        report("no client read the health of the service");
    }
    if evidence.refused(noticed, "store-unavailable") == 0 {
        report("no caller got store-unavailable");
    }
    findings
}
