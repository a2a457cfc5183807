use std::sync::Arc;

use super::StoreMetrics;
use super::family::Family;
use super::instrument::{Counter, Gauge, Histogram};
use super::label::{By, label};
use crate::rules::batch::Batch;

label! {
    /// The bound at which an append is turned away.
    QueueBound: "bound" {
        Chat = "chat",
        Total = "total",
    }
}

/// Appends: as they are given, as they wait, and as they are sent.
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
    /// Notes an append that breaks no rule.
    pub(crate) fn given(&self, batch: &Batch) {
        self.messages.observe(batch.len());
        self.bytes.observe(batch.bytes());
    }

    pub(crate) fn overloaded(&self, bound: QueueBound) {
        self.overloads.of(bound).increment();
    }

    /// Notes an update that has answered so many appends and stored so many messages.
    pub(crate) fn stored(&self, appends: usize, messages: usize) {
        self.group_appends.observe(appends);
        self.group_messages.observe(messages);
    }

    /// Notes a command that updates so many chats.
    pub(crate) fn sent(&self, chats: usize) {
        self.command_chats.observe(chats);
    }

    /// Notes a segment that many messages went straight into.
    pub(crate) fn sealed(&self) {
        self.segments.increment();
    }

    pub(super) fn families(&self) -> Vec<Family> {
        vec![
            Family::histogram(
                "reprise_append_messages",
                "Messages in an append, as given.",
                &self.messages,
            ),
            Family::histogram(
                "reprise_append_size_bytes",
                "Size of the messages in an append, as given.",
                &self.bytes,
            ),
            Family::gauge(
                "reprise_append_queue_appends",
                "Appends that wait or are under way.",
                &self.queued,
            ),
            Family::gauge(
                "reprise_append_queue_bytes",
                "Size of the appends that wait or are under way.",
                &self.queued_bytes,
            ),
            Family::counter(
                "reprise_append_overloads_total",
                "Appends turned away because too many wait, for their chat or in total.",
                &self.overloads,
            ),
            Family::histogram(
                "reprise_append_group_appends",
                "Appends answered by one update of a chat.",
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
                "Segments that large appends went straight into.",
                &self.segments,
            ),
        ]
    }
}

/// An append that waits or is under way, as long as this lives.
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
