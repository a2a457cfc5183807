//! What a fault is.

use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use tokio::time::sleep;

use super::checker::Finding;
use super::cluster::Cluster;
use super::history::{Archive, Clock, History, Moment, NemesisRecord, Operation, Record, Recorder};
use super::workload::{Grower, Workload};

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

    /// The chats it writes to itself.
    fn chats(&self) -> Vec<String> {
        Vec::new()
    }

    /// Says what must hold beyond what always must, and does not.
    fn judge(&self, _evidence: &Evidence<'_>) -> Vec<Finding> {
        Vec::new()
    }
}

/// From when and until when something was broken.
pub type Window = (Moment, Moment);

/// Where the numbers of those who fill chats begin.
const GROWERS: u32 = 1_000;

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
    /// What was found to be wrong on the way.
    pub findings: Vec<Finding>,
    /// Where further clients record what they do.
    pub archive: &'a Archive,
    /// The clock of the trial.
    pub clock: Clock,
}

impl Scene<'_> {
    /// What time it is.
    pub fn now(&self) -> Moment {
        self.recorder.now()
    }

    /// Writes down that something was broken from one moment to another, and how often it took
    /// effect.
    pub fn struck(&mut self, kind: &str, (from, to): Window, fired: u64) -> Result<()> {
        let kind = kind.to_owned();
        let nemesis = Operation::Nemesis(NemesisRecord { kind, fired });
        self.recorder.record_until(from, to, nemesis)
    }

    /// A client that fills chats; each of them has another number.
    pub(super) fn grower(&mut self, number: u32) -> Result<Grower> {
        let recorder = self.archive.recorder(GROWERS + number, self.clock)?;
        Ok(Grower::new(recorder, self.rng.fork()))
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
    pub fn windows(&self, kind: &str) -> impl Iterator<Item = Window> {
        self.history.records.iter().filter_map(move |record| match &record.operation {
            Operation::Nemesis(nemesis) if nemesis.kind == kind => Some((record.t0, record.t1)),
            _ => None,
        })
    }

    /// The operations that were both begun and ended within a window.
    pub fn within(&self, (from, to): Window) -> impl Iterator<Item = &'a Record> {
        let records = self.history.records.iter();
        records.filter(move |record| record.t0 >= from && record.t1 <= to)
    }

    /// How many operations ended within a window without an answer, by what was said instead.
    pub fn refused(&self, (from, to): Window, code: &str) -> usize {
        let ended = self.history.records.iter().filter(|it| it.t1 >= from && it.t1 <= to);
        let refusals = ended.filter_map(|record| record.operation.refusal());
        refusals.filter(|refusal| refusal.code == code).count()
    }

    /// How many appends were both begun and acknowledged as new within a window.
    pub fn stored(&self, window: Window) -> usize {
        let answers = self.within(window).filter_map(|record| match &record.operation {
            Operation::Append(append) => append.outcome.ok(),
            _ => None,
        });
        answers.filter(|answer| answer.messages.iter().any(|placed| !placed.duplicate)).count()
    }
}

/// Whether a record is of a request to the store, through the service.
pub fn is_request(record: &Record) -> bool {
    !matches!(record.operation, Operation::Health(_) | Operation::Nemesis(_))
}
