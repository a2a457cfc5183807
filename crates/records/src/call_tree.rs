use std::collections::HashMap;

use crate::{StackFrame, StackId};

/// The calls that the steps of a turn tell of, each with the call it was made from.
///
/// Where steps contradict each other about a call, the last one counts. All work is linear in the number
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
    /// `None`: its parents lead to a cycle.
    ancestry: Option<Ancestry>,
}

#[derive(Debug, Clone, Copy)]
struct Ancestry {
    /// The outermost call that is known.
    top: usize,
    /// How many calls the path from there to the call itself has, both included.
    calls: usize,
}

/// What the paths chosen so far tell a reader.
struct Told {
    /// For each call: the call it was made from.
    parents: Vec<bool>,
    /// For each call: its parents up to the outermost one.
    ancestors: Vec<bool>,
    /// For each call: that it is the outermost one.
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

    /// Tells whether a call was made from itself, directly or by way of others, or from such a call.
    pub(crate) fn is_cyclic(&self, stack_id: &StackId) -> bool {
        self.call(stack_id).is_some_and(|(_, call)| call.ancestry.is_none())
    }

    /// Returns for each step the end of the path that leads to it: as much of the path as the frames and
    /// the paths of the steps after it do not tell, which may be nothing.
    ///
    /// The last step gets its whole path. A path says by its length whether it begins with the outermost
    /// call: it does if it has one call more than the step is deep. So a path that was cut never has this
    /// length.
    pub(crate) fn path_ends(&self, steps: &[&StackFrame]) -> Vec<Vec<StackId>> {
        let mut told = Told::new(self.calls.len());
        for frame in steps {
            if let Some((place, call)) = self.call(&frame.stack_id) {
                let parent = call.parent.map(|parent| self.calls[parent].stack_id);
                told.parents[place] = parent == frame.parent_id.as_ref();
                told.is_top[place] = frame.parent_id.is_none() && call.parent.is_none();
            }
        }
        let mut ends = Vec::with_capacity(steps.len());
        for frame in steps.iter().rev() {
            ends.push(self.path_end(frame, ends.is_empty(), &mut told));
        }
        ends.reverse();
        ends
    }

    fn path_end(&self, frame: &StackFrame, is_last: bool, told: &mut Told) -> Vec<StackId> {
        let Some((place, call)) = self.call(&frame.stack_id) else { return Vec::new() };
        let Some(Ancestry { top, calls: whole }) = call.ancestry else { return Vec::new() };
        let whole_length = frame.depth as usize + 1;
        let mut length = self.untold_calls(place, told);
        if is_last || whole == whole_length && !told.is_top[top] {
            length = whole;
        } else if length == whole_length && length < whole {
            length += 1;
        }
        told.is_top[top] |= length == whole && whole == whole_length;
        let mut end: Vec<_> = self.upwards(place).take(length).map(StackId::clone).collect();
        end.reverse();
        end
    }

    /// Returns how many calls a path must have to tell all parents that are not told yet, and notes them.
    fn untold_calls(&self, place: usize, told: &mut Told) -> usize {
        let (mut untold, mut length, mut current) = (0, 1, place);
        while let Some(parent) = self.calls[current].parent
            && !told.ancestors[current]
        {
            length += 1;
            if !told.parents[current] {
                untold = length;
            }
            (told.parents[current], told.ancestors[current]) = (true, true);
            current = parent;
        }
        untold
    }

    /// Returns a call, the one it was made from, and so on.
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

    /// Climbs from each call to the first one whose ancestry is known, and visits no call twice.
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
            // One visited on this very climb has none yet: that is a cycle.
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

impl Told {
    fn new(calls: usize) -> Self {
        let nothing = || vec![false; calls];
        Self { parents: nothing(), ancestors: nothing(), is_top: nothing() }
    }
}
