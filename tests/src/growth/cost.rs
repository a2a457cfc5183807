use std::time::Duration;

use crate::percentile;

/// The cost of each append to a chat, in order.
#[derive(Clone, Debug)]
pub struct Cost {
    message_bytes: usize,
    latencies: Vec<Duration>,
}

impl Cost {
    pub(super) fn of(message_bytes: usize) -> Self {
        Self { message_bytes, latencies: Vec::new() }
    }

    pub(super) fn add(&mut self, latency: Duration) {
        self.latencies.push(latency);
    }

    /// The size of each message.
    pub fn message_bytes(&self) -> usize {
        self.message_bytes
    }

    /// The number of appends.
    pub fn appends(&self) -> usize {
        self.latencies.len()
    }

    /// All of them.
    pub fn all(&self) -> &[Duration] {
        &self.latencies
    }

    /// Their total cost.
    pub fn total(&self) -> Duration {
        self.latencies.iter().sum()
    }

    /// The first 5 %.
    pub fn beginning(&self) -> &[Duration] {
        &self.latencies[..self.twentieth()]
    }

    /// The last 5 %.
    pub fn end(&self) -> &[Duration] {
        &self.latencies[self.appends() - self.twentieth()..]
    }

    fn twentieth(&self) -> usize {
        self.appends().div_ceil(20)
    }
}

/// The latency that the given percentage of appends stays below.
pub(super) fn percentile(latencies: &[Duration], percent: usize) -> Duration {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    percentile::of_sorted(&sorted, percent)
}
