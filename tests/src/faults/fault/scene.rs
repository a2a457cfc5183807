use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::Window;
use crate::faults::checker::Finding;
use crate::faults::history::{Archive, Clock, Moment, NemesisRecord, Operation, Recorder};
use crate::faults::workload::{Grower, Workload};

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
    pub fn grower(&mut self, number: u32) -> Result<Grower> {
        let recorder = self.archive.recorder(GROWERS + number, self.clock)?;
        Ok(Grower::new(recorder, self.rng.fork()))
    }

    /// Lets the clients work undisturbed for a moment.
    pub async fn calm(&mut self) -> Result<()> {
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
