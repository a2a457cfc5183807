//! Where in a request to an adapter a value is that the store refuses.

use records::{Item, Location, Segment};
use resume::dialect::TranscriptPosition;

use crate::api::messages::placed;

/// Fields of a stored message, and pointers to what they are called in the messages of another system.
pub(super) type SentNames = [(&'static str, &'static str)];

/// Returns where in a request the value is that an error names in a message which was read there.
pub(super) fn sent_place(
    at: Location,
    positions: &[TranscriptPosition],
    names: &SentNames,
) -> Location {
    if !matches!(at.item, Some(Item::Message(_))) {
        return at;
    }
    let message = placed(Location { item: at.item, path: Vec::new() }, positions);
    Location { item: None, ..sent_name(at, names) }.below(message)
}

/// Returns the place in an item with the field as clients call it.
pub(super) fn sent_name(at: Location, names: &SentNames) -> Location {
    let Some(Segment::Key(field)) = at.path.first() else { return at };
    let Some((_, pointer)) = names.iter().find(|(stored, _)| stored == field) else { return at };
    let sent = Location::from(*pointer).path.into_iter();
    Location { item: at.item, path: sent.chain(at.path.into_iter().skip(1)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_named_as_it_was_sent() {
        let names = &[("event_id", "/id"), ("content", "/props/content")];
        let place = |pointer: &'static str| {
            let at = Location::from(pointer).below(Item::Message(1));
            let positions = [TranscriptPosition::Message(0), TranscriptPosition::Message(3)];
            sent_place(at, &positions, names).to_string()
        };
        assert_eq!(place("/event_id"), "/messages/3/id");
        assert_eq!(place("/content/a"), "/messages/3/props/content/a");
        assert_eq!(place("/mode"), "/messages/3/mode");
        assert_eq!(place(""), "/messages/3");
    }
}
