use std::ops::Range;

use bson::RawDocumentBuf;
use records::EventId;

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{StoredMessage, VersionKey, version_message};

/// Which messages of a span are read first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    OldestFirst,
    NewestFirst,
}

impl Direction {
    /// Cuts the next sequence off a span.
    fn next(self, span: &mut Range<u64>) -> Option<u64> {
        match self {
            Self::OldestFirst => span.next(),
            Self::NewestFirst => span.next_back(),
        }
    }
}

/// An overlay: a shared message as one of the chats has changed it.
#[derive(Debug)]
pub(crate) struct Overlay {
    pub(crate) key: VersionKey,
    pub(crate) raw: RawDocumentBuf,
}

/// A message that was found, and is decoded only if it is wanted.
#[derive(Debug)]
pub(crate) struct RawMessage<'a> {
    pub(crate) sequence: u64,
    fields: Fields<'a>,
    /// Replaces what the segment holds of the message, for this chat.
    pub(crate) overlay: Option<&'a Overlay>,
}

impl RawMessage<'_> {
    /// Reads the message as the chat shows it.
    pub(crate) fn decode(&self) -> Result<StoredMessage, StoreError> {
        match self.overlay {
            Some(overlay) => version_message(&overlay.key.chat_id, &overlay.raw),
            None => StoredMessage::read(self.sequence, &self.fields),
        }
    }

    /// Reads its id, which no edit changes.
    pub(crate) fn event_id(&self) -> Result<EventId, StoreError> {
        self.fields.parsed("event_id")
    }
}

/// Adds the messages of a session or a segment that continue a run, and cuts them off the span that is
/// still to be read; returns the sequence at which the session or the segment ends.
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
