//! Checks a completed workflow, however often its orchestrators were killed.

mod finding;
mod messages;
mod tools;
mod writers;

pub use finding::{Finding, Kind};

use serde_json::Value;

use super::journal::Line;
use super::workflow::Workflow;

/// The final state.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The workflow.
    pub workflow: Workflow,
    /// The messages of the chat, in order, as the service returns them.
    pub messages: Vec<Value>,
    /// The journals of all orchestrators of the chat.
    pub journals: Vec<Vec<Line>>,
    /// The status of the chat.
    pub status: String,
    /// The action of the plan.
    pub action: String,
    /// The number of resume points.
    pub resume_points: usize,
}

/// Returns all findings.
pub fn check(evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    messages::check(evidence, &mut findings);
    tools::check(evidence, &mut findings);
    writers::check(evidence, &mut findings);
    let Evidence { status, action, resume_points, .. } = evidence;
    let mut expect = |holds: bool, detail: String| {
        if !holds {
            findings.push(Finding { kind: Kind::NotEnded, detail });
        }
    };
    expect(status == "completed", format!("the chat is {status}"));
    expect(action == "nothing_to_do", format!("the plan says {action}"));
    expect(*resume_points == 0, format!("{resume_points} resume points are left"));
    findings
}

/// The fencing token under which a message was written.
fn writer(message: &Value) -> Option<u64> {
    message["metadata"]["token"].as_u64()
}
