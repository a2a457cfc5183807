use std::ops::Range;

use bson::RawDocumentBuf;
use records::EventId;

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{StoredMessage, VersionKey, version_message};

/// The order in which the messages of a span are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    OldestFirst,
    NewestFirst,
}

impl Direction {
    /// Removes the next sequence from a span.
    fn next(self, span: &mut Range<u64>) -> Option<u64> {
        match self {
            Self::OldestFirst => span.next(),
            Self::NewestFirst => span.next_back(),
        }
    }
}

/// An overlay: a shared message as one of its chats has edited it.
#[derive(Debug)]
pub(crate) struct Overlay {
    pub(crate) key: VersionKey,
    pub(crate) raw: RawDocumentBuf,
}

/// A message that was read but not decoded yet.
#[derive(Debug)]
pub(crate) struct RawMessage<'a> {
    pub(crate) sequence: u64,
    fields: Fields<'a>,
    /// Replaces the message of the segment in this chat.
    pub(crate) overlay: Option<&'a Overlay>,
}

impl RawMessage<'_> {
    /// Decodes the overlay if there is one, and the message itself otherwise.
    pub(crate) fn decode(&self) -> Result<StoredMessage, StoreError> {
        match self.overlay {
            Some(overlay) => version_message(&overlay.key.chat_id, &overlay.raw),
            None => StoredMessage::read(self.sequence, &self.fields),
        }
    }

    /// Reads the id of the message. It needs no overlay, because edits do not change it.
    pub(crate) fn event_id(&self) -> Result<EventId, StoreError> {
        self.fields.parsed("event_id")
    }
}

/// Adds those messages of a session or segment to a run that continue it, and removes them from `left`, the
/// sequences that are not read yet. Returns the sequence after the last message of the session or segment.
pub(crate) fn extend_run<'a>(
    run: &mut Vec<RawMessage<'a>>,
    first_sequence: u64,
    found: &Fields<'a>,
    left: &mut Range<u64>,
    direction: Direction,
) -> Result<u64, StoreError> {
    let (mut end, mut wanted) = (first_sequence, Vec::new());
    for (sequence, fields) in (first_sequence..).zip(found.documents("messages")?) {
        if left.contains(&sequence) {
            wanted.push(RawMessage { sequence, fields: fields?, overlay: None });
        }
        end = sequence.saturating_add(1);
    }
    if direction == Direction::NewestFirst {
        wanted.reverse();
    }
    for message in wanted {
        let mut rest = left.clone();
        if direction.next(&mut rest) != Some(message.sequence) {
            break;
        }
        *left = rest;
        run.push(message);
    }
    Ok(end)
}
