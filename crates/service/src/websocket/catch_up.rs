use std::sync::Arc;

use crate::live::{Delivery, Event, Position};

/// The catching up of a client, from where it began until the client has everything.
#[derive(Debug)]
pub(super) struct CatchUp {
    pub(super) cause: CatchUpCause,
    /// The index of the last message that the client had, -1 for none.
    pub(super) last_client_index: i64,
    /// The index of the first message that is replayed.
    pub(super) start_index: u64,
    /// The number of messages replayed so far.
    pub(super) replayed: u64,
    /// The speaker of the last message that was replayed.
    pub(super) last_speaker: Option<Arc<str>>,
}

/// Why a client catches up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CatchUpCause {
    /// It has joined without a position.
    Join,
    /// It has joined with a position.
    JoinAfter,
    /// It has sent `client.resume`.
    Request,
}

impl CatchUpCause {
    pub(super) fn mode(self) -> &'static str {
        if self == Self::Join { "auto" } else { "client" }
    }

    pub(super) fn reason(self) -> &'static str {
        if self == Self::Request { "client_resume" } else { "on_connect" }
    }
}

impl CatchUp {
    pub(super) fn new(cause: CatchUpCause, from: Position) -> Self {
        let last_client_index = if cause == CatchUpCause::Join { -1 } else { from.last_sequence() };
        let (start_index, replayed, last_speaker) = (from.next, 0, None);
        Self { cause, last_client_index, start_index, replayed, last_speaker }
    }

    /// Records an event that is sent to the client while it catches up.
    pub(super) fn record(&mut self, delivery: &Delivery) {
        if let Event::Message(message) = &delivery.event {
            self.replayed += 1;
            self.last_speaker = Some(Arc::clone(&message.speaker));
        }
    }
}
