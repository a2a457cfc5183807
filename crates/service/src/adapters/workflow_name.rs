use records::WorkflowName;

use crate::problem::{Problem, ProblemKind};

/// Returns the workflow of the chats that an adapter creates: the one of the settings, or else this one.
pub(super) fn workflow_name(
    configured: Option<&WorkflowName>,
    default: &'static str,
) -> Result<WorkflowName, Problem> {
    match configured {
        Some(name) => Ok(name.clone()),
        None => WorkflowName::parse(default)
            .map_err(|error| Problem::new(ProblemKind::INTERNAL, error.to_string())),
    }
}
