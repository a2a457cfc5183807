use std::collections::{HashMap, HashSet};

use super::violation::{Problem, Violation};

/// The ids of all calls so far. Each may be used once.
#[derive(Debug, Default)]
pub(super) struct CallIds<'a>(HashSet<&'a str>);

impl<'a> CallIds<'a> {
    /// Adds the id of a call, and returns the problem if it was used before.
    pub(super) fn add(&mut self, id: &'a str) -> Option<Problem> {
        let detail = || format!("the call id {id:?} was used before");
        (!self.0.insert(id)).then(|| ("duplicate_call_id", detail()))
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.0.contains(id)
    }
}

/// The calls without results so far, while a validator goes through the messages.
///
/// The validators do not use the renderer's `ResultMatcher`: a mistake in it would pass its own check.
#[derive(Debug, Default)]
pub(super) struct OpenCalls<'a> {
    /// Every call with the position of its message, in order, answered or not.
    calls: Vec<(usize, &'a str)>,
    /// How many calls with each id are open: a broken list of messages may use an id several times.
    counts: HashMap<&'a str, usize>,
}

impl<'a> OpenCalls<'a> {
    /// Opens a call of the message at a position.
    pub(super) fn open(&mut self, index: usize, id: &'a str) {
        self.calls.push((index, id));
        *self.counts.entry(id).or_default() += 1;
    }

    /// Closes a call with this id, and returns whether one was open.
    pub(super) fn close(&mut self, id: &str) -> bool {
        let count = self.counts.get_mut(id).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    }

    /// Closes the call of a result, and returns the problem if none is open.
    pub(super) fn close_with_result(&mut self, id: &str) -> Option<Problem> {
        let detail = || format!("there is no open call {id:?} here");
        (!self.close(id)).then(|| ("orphan_result", detail()))
    }

    /// Takes the calls that are still open, in order, each with what it lacks.
    pub(super) fn take_unanswered(
        &mut self,
        lack: &'static str,
    ) -> impl Iterator<Item = Violation> + use<'a> {
        let detail = move |id: &str| format!("the call {id:?} {lack}");
        self.take().map(move |(index, id)| Violation::new(index, "unanswered_call", detail(id)))
    }

    /// Takes the calls that are still open, in order.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        let Self { calls, mut counts } = std::mem::take(self);
        // Of several calls with one id, the first ones count as open: results name only the id.
        calls.into_iter().filter(move |(_, id)| match counts.get_mut(id) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_one_id_are_closed_one_by_one() {
        let mut calls = OpenCalls::default();
        for (index, id) in [(0, "b"), (0, "a"), (1, "b")] {
            calls.open(index, id);
        }
        assert!(calls.close("b") && !calls.close("c"));
        assert_eq!(calls.take().collect::<Vec<_>>(), [(0, "b"), (0, "a")]);
        assert!(!calls.close("a"));
        assert_eq!(calls.take().count(), 0);
    }
}
