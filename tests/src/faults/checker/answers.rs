//! Every response agrees with what is stored, however often the caller repeated the request.

use super::chat::{Chat, Event};
use super::{Finding, Kind};
use crate::faults::history::Placed;

pub(super) fn check(chat: &Chat<'_>, findings: &mut Vec<Finding>) {
    let mut report = |kind, detail: String| findings.push(Finding::in_chat(kind, chat.id, detail));
    for (id, event) in &chat.events {
        for (kind, detail) in of_event(chat.places.get(id).copied(), event) {
            report(kind, format!("{id} {detail}"));
        }
    }
    for message in &chat.stored.messages {
        let event = chat.events.get(message.event_id.as_str());
        if event.is_some_and(|event| event.hash != message.hash) {
            report(Kind::OtherBody, format!("{} differs from what was sent", message.event_id));
        }
    }
    let count = chat.stored.messages.len() as u64;
    for (append, answer) in chat.appends.iter().filter_map(|it| it.outcome.ok().map(|ok| (it, ok)))
    {
        let (asked, told) = (append.messages.len(), answer.messages.len());
        if asked != told {
            report(Kind::OtherSequence, format!("{asked} messages were sent, {told} answered"));
        }
        let highest = answer.messages.iter().map(|placed| placed.sequence).max();
        let last_sequence = answer.last_sequence;
        if highest.is_some_and(|highest| highest >= last_sequence) || last_sequence > count {
            let detail = format!("the counter was returned as {last_sequence}, {count} are stored");
            report(Kind::WrongCounter, detail);
        }
    }
}

fn of_event(place: Option<u64>, event: &Event<'_>) -> Vec<(Kind, String)> {
    let mut wrong = Vec::new();
    // If the message is lost, the responses can still be compared with each other.
    let place = place.or(event.answers.first().map(|answer| answer.sequence));
    let elsewhere = |answer: &&Placed| Some(answer.sequence) != place;
    if let (Some(answer), Some(place)) = (event.answers.iter().find(elsewhere), place) {
        let told = answer.sequence;
        wrong.push((Kind::OtherSequence, format!("was acknowledged as {told} and is {place}")));
    }
    let stored = event.answers.iter().filter(|answer| !answer.duplicate).count();
    if stored > 1 {
        wrong.push((Kind::StoredTwice, format!("was stored as new {stored} times")));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::checker::sketch::{Sketch, kinds};

    #[test]
    fn an_acknowledgement_with_another_sequence_is_found() {
        let sketch = Sketch::new().append("a", 1, [1, 2]).append("b", 1, [1, 2]);
        assert!(kinds(&sketch.ends_with(["a", "b"])).contains(&Kind::OtherSequence));
    }

    #[test]
    fn a_repeat_is_answered_as_the_first_time() {
        let sketch = Sketch::new().append("a", 0, [1, 2]).append("b", 1, [3, 4]);
        let same = sketch.clone().repeat("a", 0, [5, 6]).ends_with(["a", "b"]);
        assert_eq!(kinds(&same), []);
        let other = sketch.repeat("a", 1, [5, 6]).ends_with(["a", "b"]);
        assert_eq!(kinds(&other), [Kind::OtherSequence]);
    }

    #[test]
    fn two_appends_cannot_both_have_stored_a_message() {
        let sketch = Sketch::new().append("a", 0, [1, 5]).append("a", 0, [2, 6]);
        assert_eq!(kinds(&sketch.ends_with(["a"])), [Kind::StoredTwice]);
    }

    #[test]
    fn a_body_that_has_changed_is_found() {
        let mut sketch = Sketch::new().append("a", 0, [1, 2]).ends_with(["a"]);
        for state in sketch.states() {
            state.messages[0].hash.push('!');
        }
        assert_eq!(kinds(&sketch), [Kind::OtherBody]);
    }
}
