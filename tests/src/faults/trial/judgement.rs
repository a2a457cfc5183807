use std::time::Duration;

use crate::faults::checker::{Finding, Kind, Rules, check};
use crate::faults::cluster::Timing;
use crate::faults::fault::{Evidence, Fault};
use crate::faults::history::{History, Operation};
use crate::faults::matrix::Row;

/// Checks a history against the general promises, and against those of its fault.
pub(super) struct Judgement<'a> {
    pub(super) row: &'a Row,
    pub(super) history: &'a History,
    pub(super) fault: &'a dyn Fault,
    pub(super) timing: Timing,
}

/// How much an operation may miss its deadline on a busy machine.
const SLACK: Duration = Duration::from_secs(4);

impl Judgement<'_> {
    /// Adds to the findings of the trial.
    pub(super) fn findings(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        let codes = self.row.codes.iter().map(|code| (*code).to_owned()).collect();
        let rules = Rules { codes, deadline: self.timing.request_timeout + SLACK };
        findings.extend(check(self.history, &rules));
        findings.extend(self.without_effect());
        findings.extend(self.fault.judge(&Evidence { history: self.history }));
        findings
    }

    /// A trial in which nothing was broken proves nothing.
    fn without_effect(&self) -> Option<Finding> {
        let fired = self.history.records.iter().filter_map(|record| match &record.operation {
            Operation::Nemesis(nemesis) => Some(nemesis.fired),
            _ => None,
        });
        let is_without = fired.clone().any(|fired| fired == 0) || fired.count() == 0;
        is_without.then(|| Finding::of(Kind::DidNotFire, "a strike had no effect"))
    }
}
