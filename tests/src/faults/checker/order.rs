//! A message that was sent after another one was stored comes after it.

use super::chat::Chat;
use super::{Finding, Kind};

/// Goes through the messages in the order in which they were sent, and remembers the highest position
/// of the messages that were known to be stored by then.
pub(super) fn check(chat: &Chat<'_>, findings: &mut Vec<Finding>) {
    let placed = || chat.events.iter().filter_map(|(id, it)| Some((*chat.places.get(id)?, id, it)));
    let mut completions: Vec<_> =
        placed().filter_map(|(place, id, event)| Some((event.completed?, place, id))).collect();
    let mut invocations: Vec<_> =
        placed().map(|(place, id, event)| (event.invoked, place, id)).collect();
    completions.sort_unstable();
    invocations.sort_unstable();

    let mut completions = completions.into_iter().peekable();
    let mut furthest = None;
    for (invoked, place, id) in invocations {
        while let Some((_, other, by)) = completions.next_if(|(at, ..)| *at < invoked) {
            furthest = furthest.max(Some((other, by)));
        }
        if let Some((other, by)) = furthest.filter(|(other, _)| *other > place) {
            let detail = format!("{id} was sent when {by} was stored as {other}, and is {place}");
            findings.push(Finding::in_chat(Kind::Reordered, chat.id, detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::checker::sketch::{Sketch, kinds};

    #[test]
    fn a_message_cannot_stand_before_one_that_was_acknowledged_before_it_was_sent() {
        let sketch = Sketch::new().append("a", 1, [1, 2]).append("b", 0, [3, 4]);
        assert_eq!(kinds(&sketch.ends_with(["b", "a"])), [Kind::Reordered]);
    }

    #[test]
    fn messages_that_were_under_way_together_may_stand_in_any_order() {
        let sketch = Sketch::new().append("a", 1, [1, 4]).append("b", 0, [2, 3]);
        assert_eq!(kinds(&sketch.ends_with(["b", "a"])), []);
    }

    #[test]
    fn a_message_that_was_seen_was_there() {
        let sketch = Sketch::new().unknown("a", [1, 9]).append("b", 0, [5, 6]);
        assert_eq!(kinds(&sketch.clone().ends_with(["b", "a"])), []);
        let seen = sketch.read(None, [(1, "a")], 2, [3, 4]);
        assert!(kinds(&seen.ends_with(["b", "a"])).contains(&Kind::Reordered));
    }

    #[test]
    fn sending_a_message_again_does_not_move_it() {
        let sketch = Sketch::new().append("a", 0, [1, 2]).append("b", 1, [3, 4]);
        assert_eq!(kinds(&sketch.repeat("a", 0, [5, 6]).ends_with(["a", "b"])), []);
    }
}
