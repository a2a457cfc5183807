//! The final state is consistent in itself.

use std::collections::HashMap;

use super::chat::Chat;
use super::{Finding, Kind};
use crate::faults::history::{ChatState, StoredMessage};

pub(super) fn check(chat: &Chat<'_>, findings: &mut Vec<Finding>) {
    let mut report = |kind, detail: String| findings.push(Finding::in_chat(kind, chat.id, detail));
    for (teller, state) in [("the service", chat.served), ("the store", chat.stored)] {
        if let Some(detail) = not_dense(&state.messages) {
            report(Kind::NotDense, format!("{teller} has {detail}"));
        }
        for detail in repeated(&state.messages) {
            report(Kind::Repeated, format!("{teller} has {detail}"));
        }
        for counter in state.counters.iter().filter(|it| it.kept != it.recomputed) {
            let (name, kept, recomputed) = (&counter.name, counter.kept, counter.recomputed);
            let detail = format!("{teller} keeps {kept} as {name}, which is {recomputed}");
            report(Kind::WrongCounter, detail);
        }
    }
    if let Some(detail) = difference(chat.served, chat.stored) {
        report(Kind::StatesDiffer, detail);
    }
}

/// Returns the first message whose sequence is not its position.
fn not_dense(messages: &[StoredMessage]) -> Option<String> {
    let mut numbered = (0_u64..).zip(messages);
    let (position, message) = numbered.find(|(position, it)| it.sequence != *position)?;
    Some(format!("{} as {} at position {position}", message.event_id, message.sequence))
}

fn repeated(messages: &[StoredMessage]) -> Vec<String> {
    let mut first: HashMap<&str, u64> = HashMap::new();
    let mut repeated = Vec::new();
    for message in messages {
        if let Some(earlier) = first.insert(&message.event_id, message.sequence) {
            let (id, sequence) = (&message.event_id, message.sequence);
            repeated.push(format!("{id} as {earlier} and as {sequence}"));
        }
    }
    repeated
}

fn difference(served: &ChatState, stored: &ChatState) -> Option<String> {
    if served.context != stored.context {
        let (served, stored) = (served.context, stored.context);
        return Some(format!("snapshot {served} is served, {stored} is stored"));
    }
    let (served, stored) = (&served.messages, &stored.messages);
    let mut pairs = served.iter().zip(stored);
    if let Some((served, stored)) = pairs.find(|(served, stored)| served != stored) {
        return Some(format!("{served:?} is served, {stored:?} is stored"));
    }
    let (served, stored) = (served.len(), stored.len());
    (served != stored).then(|| format!("{served} messages are served, {stored} are stored"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::checker::sketch::{Sketch, kinds};
    use crate::faults::history::Counter;

    #[test]
    fn a_message_that_is_there_twice_is_found() {
        let sketch = Sketch::new().append("a", 0, [1, 2]).append("b", 1, [3, 4]);
        assert_eq!(kinds(&sketch.clone().ends_with(["a", "b"])), []);
        assert!(kinds(&sketch.ends_with(["a", "b", "a"])).contains(&Kind::Repeated));
    }

    #[test]
    fn sequences_with_a_gap_are_found() {
        let mut sketch = Sketch::new().append("a", 0, [1, 2]).ends_with(["a"]);
        for state in sketch.states() {
            state.messages[0].sequence = 1;
        }
        assert!(kinds(&sketch).contains(&Kind::NotDense));
    }

    #[test]
    fn a_counter_that_is_off_by_one_is_found() {
        let mut sketch = Sketch::new().append("a", 0, [1, 2]).ends_with(["a"]);
        let name = "last_sequence".to_owned();
        sketch.states()[1].counters = vec![Counter { name, kept: 2, recomputed: 1 }];
        assert_eq!(kinds(&sketch), [Kind::WrongCounter]);
    }

    #[test]
    fn two_different_stories_are_found() {
        let sketch = Sketch::new().append("a", 0, [1, 2]).ends_with(["a"]);
        let (mut shorter, mut other, mut older) = (sketch.clone(), sketch.clone(), sketch);
        shorter.states()[0].messages.clear();
        assert_eq!(kinds(&shorter), [Kind::StatesDiffer]);
        other.states()[0].messages[0].hash.push('!');
        assert_eq!(kinds(&other), [Kind::StatesDiffer]);
        older.states()[0].context = 1;
        assert_eq!(kinds(&older), [Kind::StatesDiffer]);
    }
}
