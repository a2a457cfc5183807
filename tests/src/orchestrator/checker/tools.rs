use std::collections::HashMap;

use super::super::journal::Line;
use super::{Evidence, Finding, Kind, writer};

/// One run of a tool.
struct Run {
    token: u64,
    known: bool,
}

/// Checks that no tool ran twice without a mark, in all orchestrators.
///
/// Leases fence the database only: an orchestrator that was paused between its last check of the lease and
/// the run may run a tool that another one has run. That one run is unknown to it, and the stored result is
/// marked.
pub(super) fn check(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let mut runs: HashMap<&str, Vec<Run>> = HashMap::new();
    for lines in &evidence.journals {
        let mut may_have_run: &[String] = &[];
        for line in lines {
            match line {
                Line::Planned { pending, .. } => may_have_run = pending,
                Line::Runs { token, call_id, known } => {
                    if *known != may_have_run.contains(call_id) {
                        let detail = format!("{call_id}, run by {token}");
                        findings.push(Finding { kind: Kind::WrongMark, detail });
                    }
                    runs.entry(call_id).or_default().push(Run { token: *token, known: *known });
                }
                Line::Acquired { .. } | Line::Sends { .. } | Line::Woken => {}
            }
        }
    }
    for message in &evidence.messages {
        let Some(call) = message["tool_call_id"].as_str() else { continue };
        let is_marked = message["metadata"]["rerun"] == true;
        let runs = runs.get(call).map_or(&[][..], Vec::as_slice);
        let unknown = runs.iter().filter(|run| !run.known).count();
        let mut find = |kind, detail: String| findings.push(Finding { kind, detail });
        if unknown > 1 || (runs.len() > 1 && !is_marked) {
            find(Kind::RanUnmarked, format!("{call} ran {} times", runs.len()));
        }
        match runs.iter().find(|run| Some(run.token) == writer(message)) {
            None => find(Kind::NeverRan, format!("{call} has a result of who did not run it")),
            Some(run) if run.known != is_marked => {
                find(Kind::WrongMark, format!("the result of {call} is marked: {is_marked}"));
            }
            Some(_) => {}
        }
    }
}
