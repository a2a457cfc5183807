use std::sync::Arc;

use super::StoreMetrics;
use super::family::Family;
use super::instrument::{Counter, Gauge, Histogram};
use super::label::{By, label};
use crate::rules::batch::Batch;

label! {
    /// The bound at which an append is refused.
    QueueBound: "bound" {
        Chat = "chat",
        Total = "total",
    }
}

/// Appends: their requested size, their queue, and the commands that store them.
#[derive(Debug)]
pub(crate) struct AppendMetrics {
    messages: Histogram,
    bytes: Histogram,
    queued: Gauge,
    queued_bytes: Gauge,
    overloads: By<QueueBound, Counter>,
    group_appends: Histogram,
    group_messages: Histogram,
    command_chats: Histogram,
    segments: Counter,
}

impl Default for AppendMetrics {
    fn default() -> Self {
        Self {
            messages: Histogram::of_counts(),
            bytes: Histogram::of_sizes(),
            queued: Gauge::default(),
            queued_bytes: Gauge::default(),
            overloads: By::default(),
            group_appends: Histogram::of_counts(),
            group_messages: Histogram::of_counts(),
            command_chats: Histogram::of_counts(),
            segments: Counter::default(),
        }
    }
}

impl AppendMetrics {
    /// Counts a valid append.
    pub(crate) fn given(&self, batch: &Batch) {
        self.messages.observe(batch.len());
        self.bytes.observe(batch.bytes());
    }

    pub(crate) fn overloaded(&self, bound: QueueBound) {
        self.overloads.of(bound).increment();
    }

    /// Counts an update that completed this many appends and stored this many messages.
    pub(crate) fn stored(&self, appends: usize, messages: usize) {
        self.group_appends.observe(appends);
        self.group_messages.observe(messages);
    }

    /// Counts a command that updates this many chats.
    pub(crate) fn sent(&self, chats: usize) {
        self.command_chats.observe(chats);
    }

    /// Counts a segment that a large append wrote directly.
    pub(crate) fn sealed(&self) {
        self.segments.increment();
    }

    pub(super) fn families(&self) -> Vec<Family> {
        vec![
            Family::histogram(
                "reprise_append_messages",
                "Messages in an append request.",
                &self.messages,
            ),
            Family::histogram(
                "reprise_append_size_bytes",
                "Size of the messages in an append request.",
                &self.bytes,
            ),
            Family::gauge(
                "reprise_append_queue_appends",
                "Appends that are queued or in progress.",
                &self.queued,
            ),
            Family::gauge(
                "reprise_append_queue_bytes",
                "Size of the appends that are queued or in progress.",
                &self.queued_bytes,
            ),
            Family::counter(
                "reprise_append_overloads_total",
                "Appends refused because too many are queued, for their chat or in total.",
                &self.overloads,
            ),
            Family::histogram(
                "reprise_append_group_appends",
                "Appends completed by one update of a chat.",
                &self.group_appends,
            ),
            Family::histogram(
                "reprise_append_group_messages",
                "Messages stored by one update of a chat.",
                &self.group_messages,
            ),
            Family::histogram(
                "reprise_append_command_chats",
                "Chats updated by one command.",
                &self.command_chats,
            ),
            Family::counter(
                "reprise_append_segments_total",
                "Segments that large appends wrote directly.",
                &self.segments,
            ),
        ]
    }
}

/// An append that is queued or in progress, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Queued {
    metrics: Arc<StoreMetrics>,
    bytes: i64,
}

impl Queued {
    pub(crate) fn new(metrics: &Arc<StoreMetrics>, bytes: u32) -> Self {
        let queued = Self { metrics: Arc::clone(metrics), bytes: i64::from(bytes) };
        queued.count(1);
        queued
    }

    fn count(&self, sign: i64) {
        self.metrics.appends.queued.add(sign);
        self.metrics.appends.queued_bytes.add(sign * self.bytes);
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.count(-1);
    }
}
