//! The calls of assistants that lead to one.

use std::collections::HashMap;

use records::{ResumePoint, StackFrame, StackId};

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

/// Returns the calls from the outermost one to that of a step, from what its turn tells of them, or else from
/// what others do.
pub fn path_of(
    point: &ResumePoint,
    others: &[ResumePoint],
) -> Result<Vec<StackId>, CallStackError> {
    if is_whole(point) {
        return Ok(point.stack_path.clone());
    }
    path(&frames(others), &point.step.frame.stack_id)
}

/// Returns what resume points tell of calls: those of their steps, and those that lead to them.
pub fn frames(points: &[ResumePoint]) -> Vec<StackFrame> {
    let mut frames = Vec::new();
    for point in points {
        let outermost = point.stack_path.first().filter(|_| is_whole(point));
        frames.extend(outermost.map(|stack_id| StackFrame::root(stack_id.clone())));
        frames.extend(point.stack_path.windows(2).map(|pair| StackFrame {
            stack_id: pair[1].clone(),
            parent_id: Some(pair[0].clone()),
            depth: 0,
        }));
        frames.push(point.step.frame.clone());
    }
    frames
}

/// Tells whether the path that a turn tells of begins with the outermost call.
fn is_whole(point: &ResumePoint) -> bool {
    point.stack_path.len() == point.step.frame.depth as usize + 1
}
