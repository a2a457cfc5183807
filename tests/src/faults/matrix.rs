//! The faults, one row each.

mod control;
mod engine_conflicts;
mod failing_commands;
mod forgery;
mod growth;
mod kill_primary;
mod kill_secondaries;
mod lost_acknowledgement;
mod pause_primary;
mod pause_service;
mod restart_service;
mod slow_server;
mod stalled_majority;
mod step_down;
mod tampering;
mod whole_set;

use serde::Serialize;

use super::checker::Kind;
use super::cluster::Timing;
use super::fault::Fault;
use super::workload::Load;
use control::Control;
use engine_conflicts::EngineConflicts;
use failing_commands::{ALL, AWAITED, FailingCommands, Failure};
use forgery::{Forger, Forgery};
use growth::Growth;
use kill_primary::KillPrimary;
use kill_secondaries::KillSecondaries;
use lost_acknowledgement::{LostOnce, LostTwice};
use pause_primary::PausePrimary;
use pause_service::PauseService;
use restart_service::{DrainService, KillService};
use slow_server::SlowServer;
use stalled_majority::{StalledMajority, WriteConcernErrors};
use step_down::StepDown;
use tampering::Tampering;
use whole_set::WholeSet;

/// A fault, and how it is tried.
pub struct Row {
    /// Its number.
    pub number: u8,
    /// Its name, used by no other row.
    pub name: &'static str,
    /// What happens, in a few words.
    pub what: &'static str,
    /// Members of the replica set.
    pub members: u8,
    /// What goes on meanwhile.
    pub load: Load,
    /// How long things may take.
    pub timing: Timing,
    /// The fault itself.
    pub fault: fn() -> Box<dyn Fault>,
    /// What callers may be refused with.
    pub codes: &'static [&'static str],
    /// How long no append may be acknowledged, in milliseconds.
    pub bound_ms: Option<u64>,
    /// What the checker is to say.
    pub verdict: Verdict,
}

/// What the checker is to say of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing is wrong.
    Green,
    /// This is wrong, whatever else may be.
    Red(Kind),
}

/// A row that callers notice nothing of.
const QUIET: Row = Row {
    number: 1,
    name: "control",
    what: "nothing",
    members: 1,
    load: Load::ONE_SERVICE,
    timing: Timing::SHORT,
    fault: || Box::new(Control),
    codes: &[],
    bound_ms: None,
    verdict: Verdict::Green,
};

/// A row with a set of three members.
const SET: Row = Row { members: 3, ..QUIET };
/// The same through two services.
const SHARED_SET: Row = Row { load: Load::TWO_SERVICES, ..SET };

/// What callers are told while the store is away.
const AWAY: &[&str] = &["store-unavailable", "outcome-unknown", "deadline-exceeded"];
/// What callers see of a service that goes.
const GONE: &[&str] = &["not-connected", "no-answer"];
/// What callers see of a service that hangs, and wakes up.
const HANGING: &[&str] = &["timeout", "store-unavailable", "outcome-unknown", "deadline-exceeded"];

/// "Not primary" and its like: a member is no longer what it was.
const CHANGES: Failure = Failure::Codes(&[10_107, 189, 11_602]);
/// A member is being shut down.
const SHUTDOWNS: Failure = Failure::Codes(&[91, 11_600]);
/// More in a row than there can be under way at once, so that somebody meets it twice.
const TWICE: i32 = 12;

/// All faults, in the order of their numbers.
#[rustfmt::skip]
pub static MATRIX: &[Row] = &[
    Row { load: Load::TWO_SERVICES, ..QUIET },
    Row { name: "control-many-chats", load: Load::MANY_CHATS, ..QUIET },

    Row { number: 2, name: "planted-lost", what: "a proxy acknowledges an append and drops it",
          fault: || Box::new(Forger::new(Forgery::Lose)), verdict: Verdict::Red(Kind::Lost), ..QUIET },
    Row { number: 2, name: "planted-doubled", what: "a proxy sends an append again under fresh ids, as a naive client does",
          fault: || Box::new(Forger::new(Forgery::Double)), verdict: Verdict::Red(Kind::Unexpected), ..QUIET },
    Row { number: 2, name: "planted-misplaced", what: "a proxy tells another sequence",
          fault: || Box::new(Forger::new(Forgery::Misplace)), verdict: Verdict::Red(Kind::OtherSequence), ..QUIET },
    Row { number: 2, name: "planted-denied", what: "a proxy stores a message and says it was refused",
          fault: || Box::new(Forger::new(Forgery::Deny)), verdict: Verdict::Red(Kind::RefusedButStored), ..QUIET },
    Row { number: 2, name: "planted-removed", what: "a message is removed from the database",
          fault: || Box::new(Tampering::Remove), verdict: Verdict::Red(Kind::Lost), ..QUIET },
    Row { number: 2, name: "planted-repeated", what: "a message is doubled in the database",
          fault: || Box::new(Tampering::Repeat), verdict: Verdict::Red(Kind::Repeated), ..QUIET },
    Row { number: 2, name: "planted-swapped", what: "two messages are swapped in the database",
          fault: || Box::new(Tampering::Swap), verdict: Verdict::Red(Kind::OtherSequence), ..QUIET },
    Row { number: 2, name: "planted-changed", what: "a message is changed in the database",
          fault: || Box::new(Tampering::Change), verdict: Verdict::Red(Kind::OtherBody), ..QUIET },

    Row { number: 3, name: "retryable-error", what: "a command fails once as if the primary had changed",
          fault: || Box::new(FailingCommands { failure: CHANGES, commands: ALL, times: 1 }), bound_ms: Some(1_000), ..QUIET },
    Row { number: 4, name: "retryable-error-twice", what: "the same, twice in a row",
          fault: || Box::new(FailingCommands { failure: CHANGES, commands: AWAITED, times: TWICE }), codes: AWAY, bound_ms: Some(2_000), ..QUIET },
    Row { number: 5, name: "shutdown-error", what: "a command fails once as if the server were stopping",
          fault: || Box::new(FailingCommands { failure: SHUTDOWNS, commands: ALL, times: 1 }), bound_ms: Some(1_000), ..QUIET },
    Row { number: 6, name: "cut", what: "a connection is closed before its command is carried out",
          fault: || Box::new(FailingCommands { failure: Failure::Cut, commands: ALL, times: 1 }), bound_ms: Some(2_000), ..QUIET },
    Row { number: 6, name: "cut-twice", what: "the same, twice in a row",
          fault: || Box::new(FailingCommands { failure: Failure::Cut, commands: AWAITED, times: TWICE }), codes: AWAY, bound_ms: Some(2_000), ..QUIET },
    Row { number: 7, name: "lost-ack", what: "a write is carried out and its acknowledgement lost",
          fault: || Box::new(LostOnce), bound_ms: Some(1_000), ..QUIET },
    Row { number: 8, name: "lost-ack-twice", what: "the same, and the driver's second try is cut",
          fault: || Box::new(LostTwice), codes: &["outcome-unknown"], bound_ms: Some(2_000), ..QUIET },
    Row { number: 9, name: "write-concern-error", what: "writes are answered with an error before the majority has them",
          fault: || Box::new(WriteConcernErrors), codes: AWAY, ..SET },
    Row { number: 10, name: "stalled-majority", what: "both secondaries stand still",
          fault: || Box::new(StalledMajority), codes: AWAY, ..SET },
    Row { number: 11, name: "engine-conflicts", what: "every fifth write meets a conflict in the engine",
          load: Load::TWO_SERVICES, fault: || Box::new(EngineConflicts), ..QUIET },
    Row { number: 12, name: "slow-server", what: "every command waits for 0.5 to 3.5 seconds",
          fault: || Box::new(SlowServer), codes: AWAY, ..QUIET },
    Row { number: 13, name: "kill-primary", what: "the primary is killed and started again",
          fault: || Box::new(KillPrimary::Followed), codes: AWAY, bound_ms: Some(3_000), ..SHARED_SET },
    Row { number: 13, name: "kill-primary-ahead", what: "the same when the others have not followed it yet",
          fault: || Box::new(KillPrimary::Ahead), codes: AWAY, bound_ms: Some(4_000), ..SHARED_SET },
    Row { number: 14, name: "step-down", what: "the primary hands over, again and again",
          fault: || Box::new(StepDown), codes: AWAY, bound_ms: Some(1_000), ..SHARED_SET },
    Row { number: 16, name: "pause-primary", what: "the primary hangs for 10 seconds",
          fault: || Box::new(PausePrimary), codes: AWAY, bound_ms: Some(4_000), ..SHARED_SET },
    Row { number: 18, name: "kill-secondary", what: "a secondary is killed and started again",
          fault: || Box::new(KillSecondaries::One), bound_ms: Some(1_000), ..SET },
    Row { number: 18, name: "kill-secondaries", what: "both secondaries are killed and started again",
          fault: || Box::new(KillSecondaries::Both), codes: AWAY, ..SET },
    Row { number: 22, name: "whole-set-down", what: "all members are killed and started 15 seconds later",
          fault: || Box::new(WholeSet), codes: AWAY, ..SET },
    Row { number: 27, name: "kill-service", what: "a service is killed and started elsewhere",
          load: Load::TWO_SERVICES, fault: || Box::new(KillService), codes: GONE, ..QUIET },
    Row { number: 27, name: "drain-service", what: "a service is asked to stop while it is busy",
          load: Load::TWO_SERVICES, fault: || Box::new(DrainService), codes: GONE, ..QUIET },
    Row { number: 28, name: "pause-service", what: "a service hangs for 10 seconds, and goes on",
          load: Load::TWO_SERVICES, timing: Timing::IMPATIENT, fault: || Box::new(PauseService), codes: HANGING, ..QUIET },
    Row { number: 30, name: "growth", what: "a chat grows to 20 MB and every limit is exceeded",
          fault: || Box::new(Growth::default()), ..QUIET },
];

/// Finds a row by its name.
pub fn row(name: &str) -> Option<&'static Row> {
    MATRIX.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_service_is_documented() {
        let documented = include_str!("../../../docs/API.md");
        let seen_by_clients = ["not-connected", "no-answer", "timeout"];
        for code in MATRIX.iter().flat_map(|row| row.codes) {
            let is_documented = documented.contains(&format!("`{code}`"));
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
