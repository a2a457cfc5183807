use std::collections::BTreeMap;
use std::ops::Range;

use records::Message;

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{StoredMessage, VersionKey};
use crate::mongo::transcript::overlays::Versions;

/// Which messages of a span are read first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    OldestFirst,
    NewestFirst,
}

/// Messages that are being gathered into a page, in the direction of reading.
#[derive(Debug)]
pub(crate) struct Gathering {
    messages: Vec<Message>,
    direction: Direction,
    bytes: u64,
    /// The size at which the page ends.
    most_bytes: u64,
    /// What takes the place of messages that are read from segments.
    versions: Versions,
}

/// How far a gathering came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// All that there was.
    All,
    /// The page is full.
    UpToTheLimit,
    /// What there was does not join what was gathered before.
    Nothing,
}

impl Gathering {
    pub(crate) fn new(direction: Direction, most_bytes: u64) -> Self {
        Self { messages: Vec::new(), direction, bytes: 0, most_bytes, versions: Versions::new() }
    }

    /// How many bytes the page has room for.
    pub(crate) fn room(&self) -> u64 {
        self.most_bytes.saturating_sub(self.bytes)
    }

    /// Notes versions that are in force instead of what segments say.
    pub(crate) fn expect(&mut self, versions: Versions) {
        self.versions.extend(versions);
    }

    /// Returns the versions that are to take the place of messages on the page.
    pub(crate) fn expected(&self) -> Vec<VersionKey> {
        let versions = self.messages.iter().map(|message| self.versions.get(&message.sequence));
        versions.flatten().cloned().collect()
    }

    /// Puts versions where they belong.
    pub(crate) fn replace(&mut self, versions: Vec<StoredMessage>) {
        let versions = versions.into_iter().map(|version| version.message);
        let mut versions: BTreeMap<u64, Message> =
            versions.map(|message| (message.sequence, message)).collect();
        for message in &mut self.messages {
            if let Some(version) = versions.remove(&message.sequence) {
                *message = version;
            }
        }
    }

    /// Returns the messages, oldest first.
    pub(crate) fn finish(mut self) -> Vec<Message> {
        if self.direction == Direction::NewestFirst {
            self.messages.reverse();
        }
        self.messages
    }

    /// Takes the messages in a session or a segment that lie in a span, and cuts them off the span.
    pub(crate) fn take(
        &mut self,
        first_sequence: u64,
        fields: &Fields<'_>,
        span: &mut Range<u64>,
    ) -> Result<Taken, StoreError> {
        let mut wanted = Vec::new();
        for (sequence, fields) in (first_sequence..).zip(fields.documents("messages")?) {
            if span.contains(&sequence) {
                wanted.push((sequence, fields?));
            }
        }
        if self.direction == Direction::NewestFirst {
            wanted.reverse();
        }
        for (sequence, fields) in wanted {
            let mut rest = span.clone();
            let expected = match self.direction {
                Direction::OldestFirst => rest.next(),
                Direction::NewestFirst => rest.next_back(),
            };
            if expected != Some(sequence) {
                return Ok(Taken::Nothing);
            }
            if !self.push(StoredMessage::read(sequence, &fields)?) {
                return Ok(Taken::UpToTheLimit);
            }
            *span = rest;
        }
        Ok(Taken::All)
    }

    /// Takes a message unless the page is full; a page always takes one.
    fn push(&mut self, stored: StoredMessage) -> bool {
        let version = self.versions.get(&stored.message.sequence);
        let bytes = version.map_or(stored.bytes, |version| version.bytes);
        let is_full = !self.messages.is_empty() && bytes > self.room();
        if !is_full {
            self.bytes += bytes;
            self.messages.push(stored.message);
        }
        !is_full
    }
}
