use std::collections::{BTreeMap, HashSet};

use super::super::journal::Line;
use super::{Evidence, Finding, Kind, writer};

/// Checks that each message was written by the one who alone could write by then.
///
/// Between the plan of one and the plan of the next nobody else can have written: the next had the lease before
/// it read its plan. So the counters in the plans part the chat among its writers.
pub(super) fn check(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let mut acquired = HashSet::new();
    // Whose turn it is from which sequence on.
    let mut begins: BTreeMap<u64, u64> = BTreeMap::new();
    for line in evidence.journals.iter().flatten() {
        match line {
            Line::Acquired { token } if !acquired.insert(*token) => {
                let detail = format!("two had the token {token}");
                findings.push(Finding { kind: Kind::TokenGivenTwice, detail });
            }
            Line::Planned { token, last_sequence, .. } => {
                // Of several who planned at one place only the last can have written.
                let last = begins.entry(*last_sequence).or_default();
                *last = (*last).max(*token);
            }
            _ => {}
        }
    }
    let mut newest = 0;
    for (sequence, message) in (0..).zip(&evidence.messages) {
        let token = writer(message).unwrap_or_default();
        if token < newest {
            let detail = format!("message {sequence} by {token} after one by {newest}");
            findings.push(Finding { kind: Kind::TokenDecreased, detail });
        }
        newest = newest.max(token);
        let whose = begins.range(..=sequence).next_back().map_or(0, |(_, token)| *token);
        if token != whose {
            let detail = format!("message {sequence} is by {token}, when only {whose} could write");
            findings.push(Finding { kind: Kind::StaleWriter, detail });
        }
    }
}
