//! The calls of assistants that lead to one.

use std::collections::HashMap;

use records::{StackFrame, StackId};

/// Why there is no path to a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallStackError {
    /// Nothing is known of the call.
    #[error("there is no call {0}")]
    Unknown(StackId),
    /// The call was made from one of which nothing is known.
    #[error("call {stack_id} was made from {parent_id}, of which nothing is known")]
    MissingParent {
        /// The call.
        stack_id: StackId,
        /// What it was made from.
        parent_id: StackId,
    },
    /// The call was made from itself, by way of others.
    #[error("call {0} was made from itself")]
    Cycle(StackId),
}

/// Returns the calls from the outermost one to `stack_id`.
///
/// Of what is said of one call several times the last counts.
pub fn path<'a>(
    frames: impl IntoIterator<Item = &'a StackFrame>,
    stack_id: &StackId,
) -> Result<Vec<StackId>, CallStackError> {
    let parents: HashMap<_, _> =
        frames.into_iter().map(|frame| (&frame.stack_id, frame.parent_id.as_ref())).collect();
    let mut current = stack_id;
    let mut path = vec![current.clone()];
    let mut parent =
        *parents.get(current).ok_or_else(|| CallStackError::Unknown(current.clone()))?;
    while let Some(parent_id) = parent {
        // Longer than there are calls: one comes twice.
        if path.len() > parents.len() {
            return Err(CallStackError::Cycle(stack_id.clone()));
        }
        parent = *parents.get(parent_id).ok_or_else(|| CallStackError::MissingParent {
            stack_id: current.clone(),
            parent_id: parent_id.clone(),
        })?;
        path.push(parent_id.clone());
        current = parent_id;
    }
    path.reverse();
    Ok(path)
}
