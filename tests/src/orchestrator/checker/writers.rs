use std::collections::{BTreeMap, HashSet};

use super::super::journal::Line;
use super::{Evidence, Finding, Kind, writer};

/// Checks that each message was written by the orchestrator that held the lease.
///
/// Between the plans of two successive orchestrators only the first can have written, because the second
/// acquired the lease before it read its plan. So the counters in the plans divide the chat among its writers.
pub(super) fn check(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let mut acquired = HashSet::new();
    // The writer from each sequence on.
    let mut begins: BTreeMap<u64, u64> = BTreeMap::new();
    for line in evidence.journals.iter().flatten() {
        match line {
            Line::Acquired { token } if !acquired.insert(*token) => {
                let detail = format!("two had the token {token}");
                findings.push(Finding { kind: Kind::TokenGivenTwice, detail });
            }
            Line::Planned { token, last_sequence, .. } => {
                // If several read their plans at the same sequence, only the last can have written.
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
