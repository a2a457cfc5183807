//! The path through a call stack: the calls of assistants that lead to one call.

use std::collections::HashMap;

use records::{ResumePoint, StackFrame, StackId};

/// The reason why the path to a call is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallStackError {
    /// No frame describes the call.
    #[error("call {0} does not exist")]
    Unknown(StackId),
    /// No frame describes the parent of a call.
    #[error("the parent {parent_id} of call {stack_id} does not exist")]
    MissingParent {
        /// The call.
        stack_id: StackId,
        /// The parent of the call.
        parent_id: StackId,
    },
    /// The call is its own ancestor.
    #[error("call {0} is its own ancestor")]
    Cycle(StackId),
}

/// The calls that resume points describe, each with the call that made it.
#[derive(Debug, Default)]
pub struct Calls {
    parents: HashMap<StackId, Option<StackId>>,
}

impl Calls {
    /// Adds the frame of the step of a resume point, and the path that leads to it.
    ///
    /// The caller adds the resume points of a turn from the last to the first, because the first description of
    /// a call counts.
    pub fn add(&mut self, point: &ResumePoint) {
        self.add_frame(&point.step.frame);
        for pair in point.stack_path.windows(2) {
            self.add_call(&pair[1], Some(&pair[0]));
        }
        if let Some(outermost) = point.stack_path.first().filter(|_| has_complete_path(point)) {
            self.add_call(outermost, None);
        }
    }

    /// Adds a call, unless it is known already.
    pub fn add_frame(&mut self, frame: &StackFrame) {
        self.add_call(&frame.stack_id, frame.parent_id.as_ref());
    }

    fn add_call(&mut self, stack_id: &StackId, parent_id: Option<&StackId>) {
        if !self.parents.contains_key(stack_id) {
            self.parents.insert(stack_id.clone(), parent_id.cloned());
        }
    }

    /// Returns the calls from the outermost one to `stack_id`.
    pub fn path(&self, stack_id: &StackId) -> Result<Vec<StackId>, CallStackError> {
        let parents = &self.parents;
        let mut current = stack_id;
        let mut path = vec![current];
        let mut parent =
            parents.get(current).ok_or_else(|| CallStackError::Unknown(current.clone()))?;
        while let Some(parent_id) = parent {
            // The path is longer than the number of calls, so that one call occurs twice.
            if path.len() > parents.len() {
                return Err(CallStackError::Cycle(stack_id.clone()));
            }
            parent = parents.get(parent_id).ok_or_else(|| CallStackError::MissingParent {
                stack_id: current.clone(),
                parent_id: parent_id.clone(),
            })?;
            path.push(parent_id);
            current = parent_id;
        }
        Ok(path.into_iter().rev().cloned().collect())
    }
}

/// Returns the calls from the outermost one to that of a resume point: from its own path if this is whole,
/// and otherwise from what all resume points of its turn tell, which are in the order of their steps.
pub fn path_of(
    point: &ResumePoint,
    of_turn: &[ResumePoint],
) -> Result<Vec<StackId>, CallStackError> {
    if has_complete_path(point) {
        return Ok(point.stack_path.clone());
    }
    let mut calls = Calls::default();
    of_turn.iter().rev().for_each(|point| calls.add(point));
    calls.path(&point.step.frame.stack_id)
}

/// Tells whether the path of a resume point begins with the outermost call.
fn has_complete_path(point: &ResumePoint) -> bool {
    point.stack_path.len() == point.step.frame.depth as usize + 1
}
