//! A message that a reader saw stays at its position, and a page is a contiguous part of the conversation.

use std::ops::ControlFlow;

use super::chat::{Chat, SeenPage};
use super::{Finding, Kind};
use crate::faults::history::StoredMessage;

pub(super) fn check(chat: &Chat<'_>, findings: &mut Vec<Finding>) {
    let mut report = |kind, detail: String| findings.push(Finding::in_chat(kind, chat.id, detail));
    let count = chat.stored.messages.len() as u64;
    for seen in &chat.pages {
        for message in &seen.page.messages {
            if let Some((kind, detail)) = no_longer_so(chat, message) {
                report(kind, detail);
            }
        }
        let counter = seen.page.last_sequence;
        if counter > count {
            report(Kind::Vanished, format!("a reader saw {counter} messages, {count} are stored"));
        }
        if let Some((kind, detail)) = not_a_run(seen) {
            report(kind, detail);
        }
    }
    for replay in &chat.replays {
        if let ControlFlow::Break((kind, detail)) = follow(chat, replay) {
            report(kind, detail);
        }
    }
}

/// Returns the messages that have changed since a reader saw them.
pub(super) fn no_longer_so(chat: &Chat<'_>, seen: &StoredMessage) -> Option<(Kind, String)> {
    let StoredMessage { event_id, sequence, hash } = seen;
    let Some(place) = chat.places.get(event_id.as_str()) else {
        return Some((Kind::Vanished, format!("{event_id} was read as {sequence}")));
    };
    if place != sequence {
        return Some((Kind::Moved, format!("{event_id} was read as {sequence} and is {place}")));
    }
    let event = chat.events.get(event_id.as_str())?;
    (event.hash != hash)
        .then(|| (Kind::OtherBody, format!("{event_id} was read with another body")))
}

fn not_a_run(seen: &SeenPage<'_>) -> Option<(Kind, String)> {
    let SeenPage { after, page, .. } = seen;
    let sequences: Vec<u64> = page.messages.iter().map(|message| message.sequence).collect();
    let asked = after.map(|after| u64::try_from(after + 1).unwrap_or(0));
    let Some(first) = asked.or(sequences.first().copied()) else {
        let is_cut = page.last_sequence > 0;
        return is_cut.then(|| (Kind::CutPage, "the newest messages are none".to_owned()));
    };
    if !sequences.iter().copied().eq((first..).take(sequences.len())) {
        return Some((Kind::BrokenPage, format!("a page after {after:?} holds {sequences:?}")));
    }
    let end = first + sequences.len() as u64;
    let goes_on_later = after.is_some() && page.has_more;
    let is_cut = !goes_on_later && end < page.last_sequence;
    let counter = page.last_sequence;
    is_cut.then(|| (Kind::CutPage, format!("a page after {after:?} ends at {end} of {counter}")))
}

/// Follows a transcript through the conversation.
fn follow(chat: &Chat<'_>, replay: &[String]) -> ControlFlow<(Kind, String)> {
    let mut before: Option<(&str, u64)> = None;
    for event_id in replay {
        let Some(place) = chat.places.get(event_id.as_str()).copied() else {
            let detail = format!("{event_id} was in a transcript");
            return ControlFlow::Break((Kind::Vanished, detail));
        };
        if let Some((neighbour, earlier)) = before.filter(|(_, earlier)| earlier + 1 != place) {
            let detail = format!("{event_id} ({place}) came after {neighbour} ({earlier})");
            return ControlFlow::Break((Kind::BrokenPage, detail));
        }
        before = Some((event_id, place));
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::checker::sketch::{Sketch, kinds};

    fn three() -> Sketch {
        let sketch = Sketch::new().append("a", 0, [1, 2]).append("b", 1, [3, 4]);
        sketch.append("c", 2, [5, 6]).ends_with(["a", "b", "c"])
    }

    #[test]
    fn pages_of_the_conversation_are_fine() {
        let whole = three().read(Some(-1), [(0, "a"), (1, "b"), (2, "c")], 3, [7, 8]);
        assert_eq!(kinds(&whole), []);
        assert_eq!(kinds(&three().read(Some(1), [(2, "c")], 3, [7, 8])), []);
        assert_eq!(kinds(&three().read(Some(2), [], 3, [7, 8])), []);
        assert_eq!(kinds(&three().read(None, [(1, "b"), (2, "c")], 3, [7, 8])), []);
        assert_eq!(kinds(&three().read(Some(-1), [(0, "a")], 1, [2, 3])), []);
    }

    #[test]
    fn what_a_reader_saw_and_is_not_there_has_vanished() {
        let phantom = three().unknown("d", [7, 20]).read(Some(2), [(3, "d")], 4, [8, 9]);
        assert!(kinds(&phantom).contains(&Kind::Vanished));
        let counted = three().read(Some(2), [], 4, [7, 8]);
        assert!(kinds(&counted).contains(&Kind::Vanished));
    }

    #[test]
    fn a_message_that_was_read_elsewhere_has_moved() {
        let moved = three().read(Some(-1), [(0, "b"), (1, "a")], 2, [4, 5]);
        assert!(kinds(&moved).contains(&Kind::Moved));
    }

    #[test]
    fn a_page_with_a_hole_or_another_beginning_is_broken() {
        let hole = three().read(Some(-1), [(0, "a"), (2, "c")], 3, [7, 8]);
        assert_eq!(kinds(&hole), [Kind::BrokenPage]);
        let late = three().read(Some(-1), [(1, "b"), (2, "c")], 3, [7, 8]);
        assert_eq!(kinds(&late), [Kind::BrokenPage]);
    }

    #[test]
    fn a_page_that_ends_early_and_does_not_say_so_is_cut() {
        assert_eq!(kinds(&three().read(Some(-1), [(0, "a")], 3, [7, 8])), [Kind::CutPage]);
        assert_eq!(kinds(&three().read(None, [(0, "a")], 3, [7, 8])), [Kind::CutPage]);
        assert_eq!(kinds(&three().read(None, [], 3, [7, 8])), [Kind::CutPage]);
    }

    #[test]
    fn a_transcript_is_a_run_of_the_conversation() {
        assert_eq!(kinds(&three().replay(["b", "c"])), []);
        assert_eq!(kinds(&three().replay(["a", "c"])), [Kind::BrokenPage]);
        assert_eq!(kinds(&three().replay(["c", "b"])), [Kind::BrokenPage]);
        assert_eq!(kinds(&three().replay(["c", "d"])), [Kind::Vanished]);
    }
}
