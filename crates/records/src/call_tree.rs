use std::collections::HashMap;

use crate::{StackFrame, StackId};

/// The calls that the steps of a turn describe, each with the call that made it.
///
/// If steps contradict each other about a call, the last one counts. All work is linear in the number
/// of steps: a deeply nested turn costs no more than a flat one.
#[derive(Debug)]
pub(crate) struct CallTree<'a> {
    places: HashMap<&'a StackId, usize>,
    calls: Vec<Call<'a>>,
}

#[derive(Debug, Clone, Copy)]
struct Call<'a> {
    stack_id: &'a StackId,
    parent: Option<usize>,
    /// `None` if the parents of the call form a cycle.
    ancestry: Option<Ancestry>,
}

#[derive(Debug, Clone, Copy)]
struct Ancestry {
    /// The outermost known call.
    top: usize,
    /// The number of calls on the path from there to the call itself, both included.
    calls: usize,
}

/// What the paths chosen so far describe.
struct DescribedCalls {
    /// For each call: whether its parent is described.
    parents: Vec<bool>,
    /// For each call: whether all its ancestors are described.
    ancestors: Vec<bool>,
    /// For each call: whether it is described as the outermost one.
    is_top: Vec<bool>,
}

impl<'a> CallTree<'a> {
    pub(crate) fn new(frames: impl Iterator<Item = &'a StackFrame>) -> Self {
        let mut tree = Self { places: HashMap::new(), calls: Vec::new() };
        for frame in frames {
            let place = tree.place(&frame.stack_id);
            tree.calls[place].parent = frame.parent_id.as_ref().map(|parent| tree.place(parent));
        }
        tree.find_ancestry();
        tree
    }

    /// Returns whether a call is its own ancestor, or has such an ancestor.
    pub(crate) fn is_cyclic(&self, stack_id: &StackId) -> bool {
        self.call(stack_id).is_some_and(|(_, call)| call.ancestry.is_none())
    }

    /// Returns for each step the end of its path: the calls that the frames of the steps and the paths of
    /// later steps do not describe. It may be empty.
    ///
    /// The last step gets its whole path. The length of a path shows whether it begins with the outermost
    /// call: then it has one more call than the depth of the step. So a path that was cut must not have
    /// this length.
    pub(crate) fn path_ends(&self, steps: &[&StackFrame]) -> Vec<Vec<StackId>> {
        let mut described = DescribedCalls::new(self.calls.len());
        for frame in steps {
            if let Some((place, call)) = self.call(&frame.stack_id) {
                let parent = call.parent.map(|parent| self.calls[parent].stack_id);
                described.parents[place] = parent == frame.parent_id.as_ref();
                described.is_top[place] = frame.parent_id.is_none() && call.parent.is_none();
            }
        }
        let mut ends = Vec::with_capacity(steps.len());
        for frame in steps.iter().rev() {
            ends.push(self.path_end(frame, ends.is_empty(), &mut described));
        }
        ends.reverse();
        ends
    }

    fn path_end(
        &self,
        frame: &StackFrame,
        is_last: bool,
        described: &mut DescribedCalls,
    ) -> Vec<StackId> {
        let Some((place, call)) = self.call(&frame.stack_id) else { return Vec::new() };
        let Some(Ancestry { top, calls: whole }) = call.ancestry else { return Vec::new() };
        let whole_length = frame.depth as usize + 1;
        let mut length = self.undescribed_calls(place, described);
        if is_last || whole == whole_length && !described.is_top[top] {
            length = whole;
        } else if length == whole_length && length < whole {
            length += 1;
        }
        described.is_top[top] |= length == whole && whole == whole_length;
        let mut end: Vec<_> = self.upwards(place).take(length).map(StackId::clone).collect();
        end.reverse();
        end
    }

    /// Returns how many calls a path needs to describe all parents that are not described yet, and marks
    /// these as described.
    fn undescribed_calls(&self, place: usize, described: &mut DescribedCalls) -> usize {
        let (mut needed, mut length, mut current) = (0, 1, place);
        while let Some(parent) = self.calls[current].parent
            && !described.ancestors[current]
        {
            length += 1;
            if !described.parents[current] {
                needed = length;
            }
            (described.parents[current], described.ancestors[current]) = (true, true);
            current = parent;
        }
        needed
    }

    /// Returns a call, its parent, and so on up to the outermost call.
    fn upwards(&self, place: usize) -> impl Iterator<Item = &'a StackId> {
        let calls = std::iter::successors(Some(place), |place| self.calls[*place].parent);
        calls.map(|place| self.calls[place].stack_id)
    }

    fn call(&self, stack_id: &StackId) -> Option<(usize, Call<'a>)> {
        let place = *self.places.get(stack_id)?;
        Some((place, self.calls[place]))
    }

    fn place(&mut self, stack_id: &'a StackId) -> usize {
        *self.places.entry(stack_id).or_insert_with(|| {
            self.calls.push(Call { stack_id, parent: None, ancestry: None });
            self.calls.len() - 1
        })
    }

    /// Finds the ancestry of every call. It climbs from each call to the first one that was visited, so that it
    /// visits no call twice.
    fn find_ancestry(&mut self) {
        let mut is_visited = vec![false; self.calls.len()];
        for start in 0..self.calls.len() {
            let (mut climbed, mut current) = (Vec::new(), Some(start));
            while let Some(place) = current.filter(|place| !is_visited[*place]) {
                is_visited[place] = true;
                climbed.push(place);
                current = self.calls[place].parent;
            }
            let Some(&last) = climbed.last() else { continue };
            // A call that was visited on this climb has no ancestry yet: the climb went in a cycle.
            let mut above = match current {
                Some(place) => self.calls[place].ancestry,
                None => Some(Ancestry { top: last, calls: 0 }),
            };
            for place in climbed.into_iter().rev() {
                above = above.map(|above| Ancestry { calls: above.calls + 1, ..above });
                self.calls[place].ancestry = above;
            }
        }
    }
}

impl DescribedCalls {
    fn new(calls: usize) -> Self {
        let nothing = || vec![false; calls];
        Self { parents: nothing(), ancestors: nothing(), is_top: nothing() }
    }
}
