//! What must be there when a workflow is complete, however often those who carried it on were killed.

mod finding;
mod messages;
mod tools;
mod writers;

pub use finding::{Finding, Kind};

use serde_json::Value;

use super::journal::Line;
use super::workflow::Workflow;

/// What is there in the end.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What was to be done.
    pub workflow: Workflow,
    /// The messages of the chat, in order, as the service tells them.
    pub messages: Vec<Value>,
    /// The journals of all who carried the chat on.
    pub journals: Vec<Vec<Line>>,
    /// Where the chat stands.
    pub status: String,
    /// What the plan says is to be done.
    pub action: String,
    /// How many resume points there are.
    pub resume_points: usize,
}

/// Returns everything that is not as it should be.
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

/// The token of who wrote a message.
fn writer(message: &Value) -> Option<u64> {
    message["metadata"]["token"].as_u64()
}
