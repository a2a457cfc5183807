//! Acknowledged messages are stored, refused ones are not, and a batch is stored as a whole.

use std::collections::BTreeMap;

use super::chat::Chat;
use super::{Finding, Kind};
use crate::faults::history::Append;

pub(super) fn check(chat: &Chat<'_>, findings: &mut Vec<Finding>) {
    let mut report = |kind, detail: String| findings.push(Finding::in_chat(kind, chat.id, detail));
    for (id, event) in &chat.events {
        match (chat.places.get(id), event.answers.first()) {
            (None, Some(answer)) => {
                let sequence = answer.sequence;
                report(Kind::Lost, format!("{id} was acknowledged as {sequence}"));
            }
            (Some(place), None) if !event.may_exist => {
                report(Kind::RefusedButStored, format!("{id} is stored as {place}"));
            }
            _ => {}
        }
    }
    for message in &chat.stored.messages {
        if !chat.events.contains_key(message.event_id.as_str()) {
            let (id, sequence) = (&message.event_id, message.sequence);
            report(
                Kind::Unexpected,
                format!("{id} is stored as {sequence}, and no client sent it"),
            );
        }
    }
    // Clients repeat a batch as a whole, so its first id identifies it.
    let batches = chat.appends.iter().filter(|append| append.messages.len() > 1);
    let batches: BTreeMap<_, _> = batches.map(|it| (&it.messages[0].event_id, it)).collect();
    for detail in batches.into_values().filter_map(|append| torn(chat, append)) {
        report(Kind::TornBatch, detail);
    }
}

/// Returns how a batch is torn, if it is. A batch that is not stored at all is not torn.
fn torn(chat: &Chat<'_>, append: &Append) -> Option<String> {
    let ids = append.messages.iter().map(|sent| sent.event_id.as_str());
    let places: Vec<_> = ids.clone().map(|id| chat.places.get(id).copied()).collect();
    let first = places.iter().flatten().min().copied()?;
    let expected = (first..).map(Some).take(places.len());
    let is_whole = places.iter().copied().eq(expected);
    (!is_whole).then(|| format!("{:?} are stored as {places:?}", ids.collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::checker::sketch::{Sketch, kinds};

    #[test]
    fn an_acknowledged_message_that_is_missing_is_lost() {
        let sketch = Sketch::new().append("a", 0, [1, 2]).append("b", 1, [3, 4]);
        assert_eq!(kinds(&sketch.clone().ends_with(["a", "b"])), []);
        assert!(kinds(&sketch.ends_with(["a"])).contains(&Kind::Lost));
    }

    #[test]
    fn an_unknown_append_may_be_there_or_not() {
        let sketch = Sketch::new().unknown("a", [1, 2]);
        assert_eq!(kinds(&sketch.clone().ends_with(["a"])), []);
        assert_eq!(kinds(&sketch.ends_with([])), []);
    }

    #[test]
    fn a_refused_append_must_not_be_there() {
        let sketch = Sketch::new().refused("a", [1, 2]);
        assert_eq!(kinds(&sketch.clone().ends_with([])), []);
        assert_eq!(kinds(&sketch.clone().ends_with(["a"])), [Kind::RefusedButStored]);
        assert_eq!(kinds(&sketch.unknown("a", [3, 4]).ends_with(["a"])), []);
    }

    #[test]
    fn a_message_nobody_sent_is_found() {
        assert_eq!(kinds(&Sketch::new().ends_with(["a"])), [Kind::Unexpected]);
    }

    #[test]
    fn a_batch_is_there_as_a_whole_and_in_order_or_not_at_all() {
        let sketch = Sketch::new().unknown_batch(["a", "b"], [1, 2]).unknown("c", [3, 4]);
        for whole in [&["a", "b", "c"][..], &["c", "a", "b"], &["c"], &[]] {
            assert_eq!(kinds(&sketch.clone().ends_with(whole.iter().copied())), [], "{whole:?}");
        }
        for torn in [&["a"][..], &["b", "a"], &["a", "c", "b"]] {
            let sketch = sketch.clone().ends_with(torn.iter().copied());
            assert_eq!(kinds(&sketch), [Kind::TornBatch], "{torn:?}");
        }
    }
}
