//! Histories that are generated while they are read.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use chrono::DateTime;
use futures::stream::{self, Stream};
use persistence::StoreError;
use records::{EventId, Message, MessageBody};

/// The size of each message's content.
pub(crate) const CONTENT: usize = 1_000;

/// Counts the messages read of a history, and records when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub(crate) read: AtomicUsize,
    pub(crate) is_dropped: AtomicBool,
}

/// Returns a history with a number of messages.
pub(crate) fn of(count: usize) -> impl Stream<Item = Result<Message, StoreError>> + Send {
    stream::iter((0..count).map(|sequence| Ok(message(sequence))))
}

/// Returns a history without an end.
pub(crate) fn endless(
    meter: &'static Meter,
) -> impl Stream<Item = Result<Message, StoreError>> + Send {
    let reading = Reading(meter);
    stream::repeat_with(move || Ok(message(reading.count())))
}

struct Reading(&'static Meter);

impl Reading {
    fn count(&self) -> usize {
        self.0.read.fetch_add(1, Ordering::Relaxed)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.is_dropped.store(true, Ordering::Relaxed);
    }
}

fn message(sequence: usize) -> Message {
    Message {
        sequence: sequence as u64,
        event_id: EventId::parse(format!("evt_{sequence}")).unwrap(),
        body: MessageBody::new("assistant", Some("planner"), "x".repeat(CONTENT)),
        created_at: DateTime::UNIX_EPOCH,
        author: None,
        edited_at: None,
        edited_by: None,
        deleted_at: None,
        deleted_by: None,
        is_text_kept: false,
    }
}
