//! Writes that the primary has applied and that the secondaries do not replicate.

use std::collections::BTreeSet;

use anyhow::Result;
use async_trait::async_trait;
use mongodb::bson::doc;
use tokio::time::sleep;

use crate::faults::checker::{Finding, Kind};
use crate::faults::cluster::{Cluster, FailPoint, SERVICE, Stall};
use crate::faults::fault::{Evidence, Fault, Scene, Window};
use crate::faults::history::{Append, Operation, StoredMessage};

/// Both secondaries stop replicating.
pub(super) struct StalledMajority;

/// Both secondaries stop replicating, and the primary reports at once that it could not wait for them.
pub(super) struct WriteConcernErrors;

const STALL: &str = "majority stalled";

#[async_trait(?Send)]
impl Fault for StalledMajority {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        // From now on every append is on the primary alone.
        scene.workload.rest().await;
        let stall = Stall::applying(cluster).await?;
        let t0 = scene.now();
        scene.workload.go_on();
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
        scene.workload.rest().await;
        let stall = Stall::applying(cluster).await?;
        let t0 = scene.now();
        let code = scene.rng.choice([64, 91, 100]);
        let error = doc! { "code": code, "errmsg": "the majority was not waited for" };
        let data = doc! {
            "failCommands": ["findAndModify", "insert", "update"], "appName": SERVICE,
            "writeConcernError": error,
        };
        let primary = cluster.primary().await?;
        let errors = FailPoint::set(primary, "failCommand", "alwaysOn", data).await?;
        scene.workload.go_on();
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

/// No message is acknowledged or shown before the majority has it, and callers get a truthful error.
fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |detail: String| findings.push(Finding::of(Kind::Fault, detail));
    for window in evidence.windows(STALL) {
        let stored = evidence.stored(window);
        if stored > 0 {
            report(format!("{stored} appends were acknowledged before the majority had them"));
        }
        if evidence.refused(window, "outcome-unknown") == 0 {
            report("no caller got outcome-unknown".to_owned());
        }
        let shown = shown(evidence, window);
        if !shown.is_empty() {
            report(format!("readers saw {shown:?} before the majority had them"));
        }
    }
    findings
}

/// The messages that were sent and read within a window.
fn shown<'a>(evidence: &Evidence<'a>, window: Window) -> BTreeSet<&'a str> {
    let (from, to) = window;
    let records = &evidence.history.records;
    let appends = records.iter().filter_map(|record| match &record.operation {
        Operation::Append(append) => Some((record.t0, append)),
        _ => None,
    });
    let ids = |append: &'a Append| append.messages.iter().map(|sent| sent.event_id.as_str());
    let (before, since): (Vec<_>, Vec<_>) = appends.partition(|(t0, _)| *t0 < from);
    let mut sent: BTreeSet<&str> = since.into_iter().flat_map(|(_, append)| ids(append)).collect();
    for id in before.into_iter().flat_map(|(_, append)| ids(append)) {
        sent.remove(id);
    }
    let reads = records.iter().filter(|record| record.t1 >= from && record.t1 <= to);
    let pages = reads.filter_map(|record| match &record.operation {
        Operation::Read(read) => read.outcome.ok(),
        _ => None,
    });
    let mut seen: BTreeSet<_> = pages.flat_map(|page| &page.messages).map(id_of).collect();
    let told = records.iter().filter_map(|record| match &record.operation {
        Operation::Listen(listen) => Some(&listen.told),
        _ => None,
    });
    let told = told.flatten().filter(|told| told.at >= from && told.at <= to);
    seen.extend(told.map(|told| id_of(&told.message)));
    &seen & &sent
}

fn id_of(message: &StoredMessage) -> &str {
    &message.event_id
}
