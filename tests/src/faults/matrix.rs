//! The faults, one row each.

mod cancel_callers;
mod control;
mod cut_replies;
mod engine_conflicts;
mod failing_commands;
mod forged_events;
mod forgery;
mod growth;
mod history_lost;
mod isolate_primary;
mod kill_primary;
mod kill_secondaries;
mod lost_acknowledgement;
mod pause_primary;
mod pause_service;
mod restart_service;
mod silent_server;
mod slow_server;
mod stalled_majority;
mod step_down;
mod stream_lost;
mod table;
mod tampering;
mod terminate_primary;
mod upstream;
mod whole_set;

pub use table::MATRIX;

use local_mongod::Options;
use serde::Serialize;

use super::checker::Kind;
use super::cluster::{Links, Timing};
use super::fault::Fault;
use super::workload::Load;

/// A fault, and the parameters of its trial.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its number.
    pub number: u8,
    /// Its name, used by no other row.
    pub name: &'static str,
    /// A short description.
    pub what: &'static str,
    /// Members of the replica set.
    pub members: u8,
    /// The workload.
    pub load: Load,
    /// The deadlines.
    pub timing: Timing,
    /// The fault itself.
    pub fault: fn() -> Box<dyn Fault>,
    /// The error codes that callers may get.
    pub codes: &'static [&'static str],
    /// The longest accepted time without a newly acknowledged append, in milliseconds.
    pub bound_ms: Option<u64>,
    /// The longest accepted delay from acknowledgement to delivery, in milliseconds.
    pub live_bound_ms: Option<u64>,
    /// The options of each mongod.
    pub mongod: fn() -> Options,
    /// How the members are connected.
    pub links: Links,
    /// The expected verdict of the checker.
    pub verdict: Verdict,
}

/// An expected verdict of the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No finding.
    Green,
    /// This kind of finding, and possibly others.
    Red(Kind),
}

impl Row {
    /// A fault of one member or one service that callers must not notice.
    const fn of(number: u8, name: &'static str, fault: fn() -> Box<dyn Fault>) -> Self {
        Self {
            number,
            name,
            what: "",
            members: 1,
            load: Load::ONE_SERVICE,
            timing: Timing::SHORT,
            fault,
            codes: &[],
            bound_ms: None,
            live_bound_ms: None,
            mongod: Options::for_tests,
            links: Links::Direct,
            verdict: Verdict::Green,
        }
    }

    const fn what(self, what: &'static str) -> Self {
        Self { what, ..self }
    }

    const fn on_a_set_of_three(self) -> Self {
        Self { members: 3, ..self }
    }

    const fn under(self, load: Load) -> Self {
        Self { load, ..self }
    }

    const fn with_timing(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    const fn noticed_as(self, codes: &'static [&'static str]) -> Self {
        Self { codes, ..self }
    }

    const fn bounded(self, bound_ms: u64) -> Self {
        Self { bound_ms: Some(bound_ms), ..self }
    }

    const fn told_within(self, bound_ms: u64) -> Self {
        Self { live_bound_ms: Some(bound_ms), ..self }
    }

    const fn on(self, mongod: fn() -> Options) -> Self {
        Self { mongod, ..self }
    }

    const fn through_proxies(self) -> Self {
        Self { links: Links::Proxied, ..self }
    }

    const fn found_as(self, kind: Kind) -> Self {
        Self { verdict: Verdict::Red(kind), ..self }
    }
}

/// Finds a row by its name.
pub fn row(name: &str) -> Option<&'static Row> {
    MATRIX.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_service_is_documented() {
        let documented = include_str!("../../../docs/PROBLEMS.md");
        let seen_by_clients = ["not-connected", "no-answer", "timeout", "stream-ended"];
        for code in MATRIX.iter().flat_map(|row| row.codes) {
            let is_documented = documented.contains(&format!("### {code}\n"));
            assert!(is_documented || seen_by_clients.contains(code), "{code}");
        }
    }

    #[test]
    fn every_row_has_a_name_of_its_own() {
        for row in MATRIX {
            let same = MATRIX.iter().filter(|other| other.name == row.name);
            assert_eq!(same.count(), 1, "{}", row.name);
        }
    }
}
