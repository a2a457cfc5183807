//! Writes that the primary has carried out, and that the others do not take over.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use mongodb::bson::doc;
use tokio::time::sleep;

use crate::faults::checker::{Finding, Kind};
use crate::faults::cluster::{Cluster, FailPoint, SERVICE, Stall};
use crate::faults::fault::{Evidence, Fault, Scene, Window};
use crate::faults::history::Operation;

/// Both secondaries stand still.
pub(super) struct StalledMajority;

/// Both secondaries stand still, and the primary answers at once that it could not wait for them.
pub(super) struct WriteConcernErrors;

const STALL: &str = "majority stalled";
/// What was on its way when the secondaries were stopped may still arrive.
const ON_ITS_WAY: Duration = Duration::from_millis(500);

#[async_trait(?Send)]
impl Fault for StalledMajority {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let stall = Stall::begin(cluster).await?;
        let t0 = scene.now();
        let stalled = scene.lasting(5, 10);
        sleep(stalled).await;
        let window = (t0, scene.now());
        let fired = stall.end().await?;
        scene.struck(STALL, window, fired)
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        judge(evidence)
    }
}

#[async_trait(?Send)]
impl Fault for WriteConcernErrors {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let stall = Stall::begin(cluster).await?;
        let t0 = scene.now();
        let code = scene.rng.choice([64, 91, 100]);
        let error = doc! { "code": code, "errmsg": "the majority was not waited for" };
        let data = doc! {
            "failCommands": ["findAndModify", "insert", "update"], "appName": SERVICE,
            "writeConcernError": error,
        };
        let primary = cluster.primary().await?;
        let errors = FailPoint::set(primary, "failCommand", "alwaysOn", data).await?;
        let stalled = scene.lasting(5, 8);
        sleep(stalled).await;
        let window = (t0, scene.now());
        let (errors, stalled) = (errors.off().await?, stall.end().await?);
        scene.struck(STALL, window, errors.min(stalled))
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        judge(evidence)
    }
}

/// Nothing new is acknowledged nor shown before the majority has it, and callers are told so.
fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |detail: String| findings.push(Finding::of(Kind::Fault, detail));
    for (from, to) in evidence.windows(STALL) {
        let window = (from.plus(ON_ITS_WAY), to);
        let stored = evidence.stored(window);
        if stored > 0 {
            report(format!("{stored} appends were acknowledged before the majority had them"));
        }
        if evidence.refused(window, "outcome-unknown") == 0 {
            report("no caller was told that the outcome was unknown".to_owned());
        }
        for (chat, counters) in counters(evidence, window) {
            if counters.0 != counters.1 {
                report(format!(
                    "readers of {chat} saw it grow from {} to {}",
                    counters.0, counters.1
                ));
            }
        }
    }
    findings
}

/// The lowest and the highest counter that readers saw of each chat.
fn counters<'a>(evidence: &Evidence<'a>, window: Window) -> BTreeMap<&'a str, (u64, u64)> {
    let mut counters: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for record in evidence.within(window) {
        if let Operation::Read(read) = &record.operation
            && let Some(page) = read.outcome.ok()
        {
            let counter = page.last_sequence;
            let (lowest, highest) = counters.entry(&read.chat).or_insert((counter, counter));
            *lowest = counter.min(*lowest);
            *highest = counter.max(*highest);
        }
    }
    counters
}
