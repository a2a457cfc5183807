use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::Window;
use crate::faults::checker::Finding;
use crate::faults::history::{Archive, Clock, Moment, NemesisRecord, Operation, Recorder};
use crate::faults::workload::{Grower, Workload};

/// The first number of clients that fill chats.
const GROWERS: u32 = 1_000;

/// The strength of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// As short as possible, but long enough to have an effect.
    Brief,
    /// About as long as the matrix says.
    Full,
}

/// The environment of a fault: processes under a running workload.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The random numbers that decide when and where.
    pub rng: fastrand::Rng,
    /// The clients.
    pub workload: &'a Workload,
    /// The strength of the strike.
    pub force: Force,
    /// Records the faults.
    pub recorder: Recorder,
    /// The findings so far.
    pub findings: Vec<Finding>,
    /// The folder in which further clients record their operations.
    pub archive: &'a Archive,
    /// The clock of the trial.
    pub clock: Clock,
}

impl Scene<'_> {
    /// The current time.
    pub fn now(&self) -> Moment {
        self.recorder.now()
    }

    /// Records the time window of a fault, and how often it took effect.
    pub fn struck(&mut self, kind: &str, (from, to): Window, fired: u64) -> Result<()> {
        let kind = kind.to_owned();
        let nemesis = Operation::Nemesis(NemesisRecord { kind, fired });
        self.recorder.record_until(from, to, nemesis)
    }

    /// A client that fills chats; each has its own number.
    pub fn grower(&mut self, number: u32) -> Result<Grower> {
        let recorder = self.archive.recorder(GROWERS + number, self.clock)?;
        Ok(Grower::new(recorder, self.rng.fork()))
    }

    /// Waits while the clients work undisturbed.
    pub async fn calm(&mut self) -> Result<()> {
        let moment = self.lasting(1, 3);
        sleep(moment).await;
        self.workload.progress().more_acknowledged(10).await
    }

    /// The duration of a fault: `brief` seconds, or a random time up to `full`.
    pub fn lasting(&mut self, brief: u64, full: u64) -> Duration {
        match self.force {
            Force::Brief => Duration::from_secs(brief),
            Force::Full => Duration::from_millis(self.rng.u64(brief * 1_000..=full * 1_000)),
        }
    }
}
