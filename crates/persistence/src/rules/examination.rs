//! Which messages of a range belong on a filtered page, and where the page ends.

use records::Message;

use crate::store::{FilteredPage, MessageFilter, Transcript};

/// What is left of a page while messages are examined.
#[derive(Debug)]
pub(crate) struct Examination<'a> {
    filter: &'a MessageFilter,
    /// How many messages the page may still have, and how many bytes of them.
    admitted: Left,
    /// How many messages may still be examined, and how many bytes of them.
    examined: Left,
    /// Whether the page has a message.
    has_messages: bool,
    /// The sequence of the message that was examined last.
    last: Option<u64>,
}

/// What is left of two limits.
#[derive(Debug, Clone, Copy)]
struct Left {
    messages: usize,
    bytes: u64,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Examined {
    /// The page has it.
    Admitted,
    /// The filter does not admit it.
    Refused,
    /// The page has ended before it.
    BeyondPage,
}

impl<'a> Examination<'a> {
    /// Begins a page of at most `limit` messages.
    pub(crate) fn new(filter: &'a MessageFilter, limit: usize) -> Self {
        Self {
            filter,
            admitted: Left { messages: limit, bytes: Transcript::PAGE_BYTES as u64 },
            examined: Left { messages: FilteredPage::MESSAGES, bytes: FilteredPage::BYTES as u64 },
            has_messages: false,
            last: None,
        }
    }

    /// Examines the next message, which has this many bytes.
    ///
    /// The first message never ends the page, so that every page makes progress.
    pub(crate) fn examine(&mut self, message: &Message, bytes: u64) -> Examined {
        let is_first = self.last.is_none();
        let is_enough = self.admitted.messages == 0 || !self.examined.has_room_for(bytes);
        if is_enough && !is_first {
            return Examined::BeyondPage;
        }
        let is_admitted = self.filter.admits(&message.body);
        if is_admitted {
            if self.has_messages && !self.admitted.has_room_for(bytes) {
                return Examined::BeyondPage;
            }
            self.admitted.take(bytes);
            self.has_messages = true;
        }
        self.examined.take(bytes);
        self.last = Some(message.sequence);
        if is_admitted { Examined::Admitted } else { Examined::Refused }
    }

    /// Returns the sequence of the message that was examined last.
    pub(crate) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Returns how many bytes may still be examined.
    pub(crate) fn bytes_left(&self) -> u64 {
        self.examined.bytes
    }
}

impl Left {
    fn has_room_for(self, bytes: u64) -> bool {
        self.messages > 0 && bytes <= self.bytes
    }

    fn take(&mut self, bytes: u64) {
        self.messages = self.messages.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}
