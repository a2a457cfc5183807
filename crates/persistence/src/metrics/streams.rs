use records::{StreamEvent, StreamGroup, StreamState};

use super::family::Family;
use super::instrument::{Counter, Histogram};
use super::label::{By, label};

label! {
    /// How a stream ended.
    StreamOutcome: "outcome" {
        Finished = "finished",
        Failed = "failed",
        Cancelled = "cancelled",
        Superseded = "superseded",
    }
}

label! {
    /// How the next holder of a lease went on with a stream.
    TakeoverMode: "mode" {
        Continue = "continue",
        Restart = "restart",
    }
}

/// The streams that this process has written.
#[derive(Debug)]
pub(crate) struct StreamMetrics {
    started: Counter,
    ended: By<StreamOutcome, Counter>,
    taken_over: By<TakeoverMode, Counter>,
    cancel_requests: Counter,
    groups: Counter,
    chunks: Counter,
    bytes: Counter,
    insert_groups: Histogram,
}

impl Default for StreamMetrics {
    fn default() -> Self {
        Self {
            started: Counter::default(),
            ended: By::default(),
            taken_over: By::default(),
            cancel_requests: Counter::default(),
            groups: Counter::default(),
            chunks: Counter::default(),
            bytes: Counter::default(),
            insert_groups: Histogram::of_counts(),
        }
    }
}

impl StreamMetrics {
    /// Counts a group that is stored.
    pub(crate) fn written(&self, group: &StreamGroup) {
        self.groups.increment();
        match &group.event {
            StreamEvent::Started => self.started.increment(),
            StreamEvent::Chunks(chunks) => {
                self.chunks.add(chunks.len());
                self.bytes.add(chunks.iter().map(String::len).sum());
            }
            StreamEvent::Continued => self.taken_over.of(TakeoverMode::Continue).increment(),
            StreamEvent::Restarted => self.taken_over.of(TakeoverMode::Restart).increment(),
            StreamEvent::CancelRequested => self.cancel_requests.increment(),
            StreamEvent::Ended => {
                if let Some(outcome) = outcome(group.mark.state) {
                    self.ended.of(outcome).increment();
                }
            }
        }
    }

    /// Counts an insert that has stored this many groups.
    pub(crate) fn inserted(&self, groups: usize) {
        self.insert_groups.observe(groups);
    }

    pub(super) fn families(&self) -> Vec<Family> {
        vec![
            Family::counter(
                "reprise_streams_started_total",
                "Streams that this process has started.",
                &self.started,
            ),
            Family::counter(
                "reprise_streams_ended_total",
                "Streams that this process has ended, by outcome.",
                &self.ended,
            ),
            Family::counter(
                "reprise_streams_taken_over_total",
                "Streams that the next holder of a lease has continued or restarted.",
                &self.taken_over,
            ),
            Family::counter(
                "reprise_stream_cancel_requests_total",
                "Requests to cancel that were the first for their stream.",
                &self.cancel_requests,
            ),
            Family::counter(
                "reprise_stream_groups_total",
                "Writes of streams that this process has stored.",
                &self.groups,
            ),
            Family::counter(
                "reprise_stream_chunks_total",
                "Chunks that this process has stored.",
                &self.chunks,
            ),
            Family::counter(
                "reprise_stream_chunk_bytes_total",
                "Size of the chunks that this process has stored.",
                &self.bytes,
            ),
            Family::histogram(
                "reprise_stream_insert_groups",
                "Writes of streams that were stored by one insert.",
                &self.insert_groups,
            ),
        ]
    }
}

fn outcome(state: StreamState) -> Option<StreamOutcome> {
    match state {
        StreamState::Running => None,
        StreamState::Finished => Some(StreamOutcome::Finished),
        StreamState::Failed => Some(StreamOutcome::Failed),
        StreamState::Cancelled => Some(StreamOutcome::Cancelled),
        StreamState::Superseded => Some(StreamOutcome::Superseded),
    }
}
