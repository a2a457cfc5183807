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

/// The calls that resume points tell of, each with the call it was made from.
#[derive(Debug, Default)]
pub struct Calls {
    parents: HashMap<StackId, Option<StackId>>,
}

impl Calls {
    /// Adds what a resume point tells: the frame of its step, and the path that leads to it.
    ///
    /// Add the resume points of a turn from the last to the first: what is told first of a call counts.
    pub fn add(&mut self, point: &ResumePoint) {
        self.add_frame(&point.step.frame);
        for pair in point.stack_path.windows(2) {
            self.add_call(&pair[1], Some(&pair[0]));
        }
        if let Some(outermost) = point.stack_path.first().filter(|_| is_whole(point)) {
            self.add_call(outermost, None);
        }
    }

    /// Adds a call, unless it is known.
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
            // Longer than there are calls: one comes twice.
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
    if is_whole(point) {
        return Ok(point.stack_path.clone());
    }
    let mut calls = Calls::default();
    of_turn.iter().rev().for_each(|point| calls.add(point));
    calls.path(&point.step.frame.stack_id)
}

/// Tells whether the path of a resume point begins with the outermost call.
fn is_whole(point: &ResumePoint) -> bool {
    point.stack_path.len() == point.step.frame.depth as usize + 1
}
