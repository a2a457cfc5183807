//! What a fault is.

use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use tokio::time::sleep;

use super::checker::Finding;
use super::cluster::Cluster;
use super::history::{History, Moment, NemesisRecord, Operation, Outcome, Record, Recorder};
use super::workload::Workload;

/// Something that can be broken, and mended again.
#[async_trait(?Send)]
pub trait Fault {
    /// Comes between the clients and the services before anything begins.
    async fn prepare(&mut self, _cluster: &mut Cluster) -> Result<()> {
        Ok(())
    }

    /// Breaks something, leaves it broken for a while, mends it, and writes down in the scene when
    /// that was and how often it took effect.
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()>;

    /// Says what must hold beyond what always must, and does not.
    fn judge(&self, _evidence: &Evidence<'_>) -> Vec<Finding> {
        Vec::new()
    }
}

/// How hard a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// As short as it can be and still be felt.
    Brief,
    /// As long as the matrix says, more or less.
    Full,
}

/// Where a fault strikes: under a workload that goes on.
#[derive(Debug)]
pub struct Scene<'a> {
    /// Decides when and where.
    pub rng: fastrand::Rng,
    /// The clients.
    pub workload: &'a Workload,
    /// How hard to strike.
    pub force: Force,
    /// Writes down what was done.
    pub recorder: Recorder,
}

impl Scene<'_> {
    /// What time it is.
    pub fn now(&self) -> Moment {
        self.recorder.now()
    }

    /// Writes down that something was broken from `t0` until now.
    pub fn struck(&mut self, kind: &str, t0: Moment, fired: u64) -> Result<()> {
        let kind = kind.to_owned();
        self.recorder.record(t0, Operation::Nemesis(NemesisRecord { kind, fired }))
    }

    /// Lets the clients work undisturbed for a moment.
    pub(super) async fn calm(&mut self) -> Result<()> {
        let moment = self.lasting(1, 3);
        sleep(moment).await;
        self.workload.progress().more_acknowledged(10).await
    }

    /// How long to leave something broken: `brief` seconds, or by chance up to `full`.
    pub fn lasting(&mut self, brief: u64, full: u64) -> Duration {
        match self.force {
            Force::Brief => Duration::from_secs(brief),
            Force::Full => Duration::from_millis(self.rng.u64(brief * 1_000..=full * 1_000)),
        }
    }
}

/// What a fault is judged by.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// Everything that happened.
    pub history: &'a History,
}

impl<'a> Evidence<'a> {
    /// When something was broken.
    pub fn windows(&self, kind: &str) -> impl Iterator<Item = (Moment, Moment)> {
        self.history.records.iter().filter_map(move |record| match &record.operation {
            Operation::Nemesis(nemesis) if nemesis.kind == kind => Some((record.t0, record.t1)),
            _ => None,
        })
    }

    /// The operations that were both begun and ended within a window.
    pub fn within(&self, (from, to): (Moment, Moment)) -> impl Iterator<Item = &'a Record> {
        let records = self.history.records.iter();
        records.filter(move |record| record.t0 >= from && record.t1 <= to)
    }

    /// The acknowledgements that came within a window.
    pub fn acknowledged(&self, (from, to): (Moment, Moment)) -> usize {
        let came = |record: &&Record| record.t1 >= from && record.t1 <= to;
        let is_ok = |record: &&Record| match &record.operation {
            Operation::Append(append) => matches!(append.outcome, Outcome::Ok(_)),
            _ => false,
        };
        self.history.records.iter().filter(came).filter(is_ok).count()
    }
}
