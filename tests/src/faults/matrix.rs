//! The faults, one row each.

mod control;
mod forgery;
mod kill_primary;
mod tampering;

use super::checker::Kind;
use super::fault::Fault;
use super::workload::Load;
use control::Control;
use forgery::{Forger, Forgery};
use kill_primary::KillPrimary;
use tampering::Tampering;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    fault: || Box::new(Control),
    codes: &[],
    bound_ms: None,
    verdict: Verdict::Green,
};

/// What callers are told while the store is away.
const AWAY: &[&str] = &["store-unavailable", "outcome-unknown", "deadline-exceeded"];

/// All faults, in the order of their numbers.
#[rustfmt::skip]
pub static MATRIX: &[Row] = &[
    Row { load: Load::TWO_SERVICES, ..QUIET },
    Row { name: "control-many-chats", load: Load::MANY_CHATS, ..QUIET },

    Row { number: 2, name: "planted-lost", what: "a proxy acknowledges an append and drops it",
          fault: || Box::new(Forger::new(Forgery::Lose)), verdict: Verdict::Red(Kind::Lost), ..QUIET },
    Row { number: 2, name: "planted-doubled", what: "a proxy stores a message again under another id",
          fault: || Box::new(Forger::new(Forgery::Double)), verdict: Verdict::Red(Kind::Unexpected), ..QUIET },
    Row { number: 2, name: "planted-misplaced", what: "a proxy tells another sequence",
          fault: || Box::new(Forger::new(Forgery::Misplace)), verdict: Verdict::Red(Kind::OtherSequence), ..QUIET },
    Row { number: 2, name: "planted-removed", what: "a message is removed from the database",
          fault: || Box::new(Tampering::Remove), verdict: Verdict::Red(Kind::Lost), ..QUIET },
    Row { number: 2, name: "planted-repeated", what: "a message is doubled in the database",
          fault: || Box::new(Tampering::Repeat), verdict: Verdict::Red(Kind::Repeated), ..QUIET },
    Row { number: 2, name: "planted-swapped", what: "two messages are swapped in the database",
          fault: || Box::new(Tampering::Swap), verdict: Verdict::Red(Kind::OtherSequence), ..QUIET },

    Row { number: 13, name: "kill-primary", what: "the primary is killed and started again", members: 3,
          load: Load::TWO_SERVICES, fault: || Box::new(KillPrimary), codes: AWAY, bound_ms: Some(3_000), ..QUIET },
];

/// Finds a row by its name.
pub fn row(name: &str) -> Option<&'static Row> {
    MATRIX.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_name_of_its_own() {
        for row in MATRIX {
            let same = MATRIX.iter().filter(|other| other.name == row.name);
            assert_eq!(same.count(), 1, "{}", row.name);
        }
    }
}
