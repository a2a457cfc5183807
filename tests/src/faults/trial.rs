//! Runs the trial of one row of the matrix, from the start of the processes to the verdict.

mod judgement;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use indicatif::ProgressBar;
use local_mongod::Options;

use self::judgement::Judgement;
use super::checker::{Finding, Kind};
use super::cluster::Cluster;
use super::fault::{Fault, Force, Scene};
use super::final_state;
use super::history::{Archive, Clock};
use super::matrix::Row;
use super::report::Report;
use super::workload::{Ending, Visitor, Workload};

/// The options of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed of all random choices.
    pub seed: u64,
    /// The strength of each strike.
    pub force: Force,
    /// How long the fault is applied; it strikes at least once.
    pub duration: Duration,
}

impl Plan {
    /// One short strike.
    pub fn brief(seed: u64) -> Self {
        Self { seed, force: Force::Brief, duration: Duration::ZERO }
    }
}

/// The longest time until everything works again.
const RECOVERY: Duration = Duration::from_secs(10);

/// The clients of a trial that are not part of its workload.
const NEMESIS: u32 = 900;
const VISITORS: [u32; 2] = [901, 902];

/// Runs a row, keeps its history in `folder`, and shows the elapsed seconds.
pub async fn run(row: &Row, plan: Plan, folder: &Path, progress: &ProgressBar) -> Result<Report> {
    let archive = Archive::in_folder(folder)?;
    let mut fault = (row.fault)();
    let options = Options { members: row.members, ..(row.mongod)() };
    let mut cluster = Cluster::start_on(options, row.links, row.load.services, row.timing).await?;
    let trial = Trial { row, plan, archive: &archive, fault: &mut *fault, progress };
    let tried = trial.run(&mut cluster).await;
    let stopped = cluster.stop().await;
    let findings = tried?;
    stopped?;
    let history = archive.read().context("the history cannot be read")?;
    let judgement = Judgement { row, history: &history, fault: &*fault, timing: row.timing };
    Ok(Report::of(row, plan, &history, judgement.findings(findings)))
}

struct Trial<'a> {
    row: &'a Row,
    plan: Plan,
    archive: &'a Archive,
    fault: &'a mut dyn Fault,
    progress: &'a ProgressBar,
}

impl Trial<'_> {
    /// Returns the findings so far; the history has the rest.
    async fn run(mut self, cluster: &mut Cluster) -> Result<Vec<Finding>> {
        let clock = Clock::start();
        self.fault.prepare(cluster).await?;
        let (load, reached, seed) = (self.row.load, cluster.reached(), self.plan.seed);
        let mut workload = Workload::start(load, reached, self.archive, clock, seed).await?;
        let mut findings = self.strike(cluster, &workload, clock).await?;
        cluster.heal().await?;
        findings.extend(self.recover(&mut workload, clock).await?);

        let client = cluster.hosts()[0].service()?.client()?;
        let chats = [workload.chats(), &self.fault.chats()].concat();
        let state = final_state::read(&client, cluster.database(), &chats).await?;
        findings.extend(final_state::misfits(cluster.database()).await?);
        self.archive.finish(&state)?;
        Ok(findings)
    }

    /// Strikes repeatedly, with pauses before, between and after.
    async fn strike(
        &mut self,
        cluster: &mut Cluster,
        workload: &Workload,
        clock: Clock,
    ) -> Result<Vec<Finding>> {
        let mut scene = Scene {
            rng: fastrand::Rng::with_seed(self.plan.seed),
            workload,
            force: self.plan.force,
            recorder: self.archive.recorder(NEMESIS, clock)?,
            findings: Vec::new(),
            archive: self.archive,
            clock,
        };
        let begun = Instant::now();
        self.progress.set_length(self.plan.duration.as_secs());
        scene.calm().await?;
        for strikes in 1.. {
            self.fault.strike(cluster, &mut scene).await.context("the fault could not strike")?;
            scene.calm().await?;
            self.progress.set_position(begun.elapsed().as_secs());
            self.progress.set_message(format!("struck {strikes} times"));
            if begun.elapsed() >= self.plan.duration {
                break;
            }
        }
        self.progress.set_message("recovering");
        scene.recorder.finish()?;
        Ok(scene.findings)
    }

    /// Checks that everything continues after healing.
    async fn recover(&self, workload: &mut Workload, clock: Clock) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        if let Ending::Stuck(clients) = workload.finish(RECOVERY).await? {
            let detail = format!("{clients} clients could not finish within {RECOVERY:?}");
            findings.push(Finding::of(Kind::Stuck, detail));
        }
        let [writer, reader] = VISITORS.map(|number| self.archive.recorder(number, clock));
        let closed = workload.visit(Visitor::new(writer?, reader?), RECOVERY).await?;
        let stuck = |chat: &String| Finding::in_chat(Kind::Stuck, chat, "a visitor was not served");
        findings.extend(closed.iter().map(stuck));
        if let Ending::Stuck(subscribers) = workload.hear_all(RECOVERY).await? {
            let detail = format!("{subscribers} subscribers did not hear all within {RECOVERY:?}");
            findings.push(Finding::of(Kind::Stuck, detail));
        }
        Ok(findings)
    }
}
