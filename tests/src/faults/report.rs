//! The report of a trial: a line of a table for people, JSON for machines.

mod live;
mod measures;
mod table;

pub use measures::{Measures, Window};
pub use table::Table;

use serde::Serialize;

use super::checker::{Finding, Kind};
use super::history::History;
use super::matrix::{Row, Verdict};
use super::trial::Plan;

/// The report of a trial.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The number of the row.
    pub number: u8,
    /// The name of the row.
    pub fault: &'static str,
    /// The workload.
    pub load: &'static str,
    /// Members of the replica set.
    pub members: u8,
    /// The seed of all random choices.
    pub seed: u64,
    /// The measurements.
    #[serde(flatten)]
    pub measures: Measures,
    /// The longest accepted time without a newly acknowledged append, in milliseconds.
    pub bound_ms: Option<u64>,
    /// The longest accepted delivery delay, in milliseconds.
    pub live_bound_ms: Option<u64>,
    /// The expected verdict of the checker.
    pub expected: Verdict,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Builds the report of a trial.
    pub fn of(row: &Row, plan: Plan, history: &History, findings: Vec<Finding>) -> Self {
        Self {
            number: row.number,
            fault: row.name,
            load: row.load.name,
            members: row.members,
            seed: plan.seed,
            measures: Measures::of(history),
            bound_ms: row.bound_ms,
            live_bound_ms: row.live_bound_ms,
            expected: row.verdict,
            findings,
        }
    }

    /// Whether the verdict was the expected one.
    pub fn is_as_expected(&self) -> bool {
        let has = |kind: Kind| self.findings.iter().any(|finding| finding.kind == kind);
        match self.expected {
            Verdict::Green => self.findings.is_empty(),
            Verdict::Red(kind) => has(kind) && !has(Kind::DidNotFire),
        }
    }

    /// The error that was planted for the checker, if there was one.
    fn planted(&self) -> Option<Kind> {
        match self.expected {
            Verdict::Green => None,
            Verdict::Red(kind) => Some(kind),
        }
    }
}
