use crate::live::Position;
use crate::live::event::{Delivery, Event};

/// A client that catches up.
#[derive(Debug)]
pub(super) struct Resume {
    pub(super) cause: Cause,
    /// The index of the last message that the client holds, -1 for none.
    pub(super) last_client_index: i64,
    /// Where it begins.
    pub(super) start_index: u64,
    pub(super) replayed: u64,
    last_message: Option<Event>,
}

/// Why it does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cause {
    /// It has joined.
    Join,
    /// It has joined, and said what it holds.
    JoinAfter,
    /// It has asked to.
    Request,
}

impl Cause {
    pub(super) fn mode(self) -> &'static str {
        if self == Self::Join { "auto" } else { "client" }
    }

    pub(super) fn reason(self) -> &'static str {
        if self == Self::Request { "client_resume" } else { "on_connect" }
    }
}

impl Resume {
    pub(super) fn new(cause: Cause, from: Position) -> Self {
        let last_client_index = if cause == Cause::Join { -1 } else { from.last() };
        let (start_index, replayed, last_message) = (from.next, 0, None);
        Self { cause, last_client_index, start_index, replayed, last_message }
    }

    /// Takes notice of what is sent meanwhile.
    pub(super) fn take(&mut self, delivery: &Delivery) {
        if delivery.event.is_message() {
            self.replayed += 1;
            self.last_message = Some(delivery.event.clone());
        }
    }

    /// Returns who has said what was sent last.
    pub(super) fn last_speaker(&self) -> Option<String> {
        self.last_message.as_ref()?.speaker()
    }
}
