//! What a trial has to say: a line of a table for people, JSON for machines.

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

/// What came of a trial.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The number of the row.
    pub number: u8,
    /// The name of the row.
    pub fault: &'static str,
    /// How much went on.
    pub load: &'static str,
    /// Members of the replica set.
    pub members: u8,
    /// What everything left to chance was decided by.
    pub seed: u64,
    /// What was counted and measured.
    #[serde(flatten)]
    pub measures: Measures,
    /// How long no append was to go unacknowledged, in milliseconds.
    pub bound_ms: Option<u64>,
    /// How long subscribers were to wait, in milliseconds.
    pub live_bound_ms: Option<u64>,
    /// What the checker was to say.
    pub expected: Verdict,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Puts together what is known of a trial.
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

    /// Whether the checker said what it was to say.
    pub fn is_as_expected(&self) -> bool {
        let has = |kind: Kind| self.findings.iter().any(|finding| finding.kind == kind);
        match self.expected {
            Verdict::Green => self.findings.is_empty(),
            Verdict::Red(kind) => has(kind) && !has(Kind::DidNotFire),
        }
    }

    /// What was planted for the checker to find, if something was.
    fn planted(&self) -> Option<Kind> {
        match self.expected {
            Verdict::Green => None,
            Verdict::Red(kind) => Some(kind),
        }
    }
}
