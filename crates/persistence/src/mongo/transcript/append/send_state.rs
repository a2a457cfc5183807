//! Decides between a caller that withdraws and a task that sends.

use std::sync::atomic::{AtomicU8, Ordering};

/// Whether a waiting append can still be withdrawn. Its caller and the task that sends it share this.
///
/// A caller that has withdrawn its append knows that nothing was stored, and nothing will be.
#[derive(Debug, Default)]
pub(crate) struct SendState(AtomicU8);

impl SendState {
    const WAITING: u8 = 0;
    const SENT: u8 = 1;
    const WITHDRAWN: u8 = 2;

    /// Marks it as sent; returns `false` if it was withdrawn.
    pub(crate) fn send(&self) -> bool {
        self.swap(Self::WAITING, Self::SENT) || self.is_sent()
    }

    /// Allows it to be withdrawn again after it was sent.
    pub(crate) fn recall(&self) {
        self.swap(Self::SENT, Self::WAITING);
    }

    /// Withdraws it; returns `false` if it was sent or withdrawn before.
    pub(crate) fn withdraw(&self) -> bool {
        self.swap(Self::WAITING, Self::WITHDRAWN)
    }

    pub(crate) fn is_sent(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::SENT
    }

    pub(crate) fn is_withdrawn(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::WITHDRAWN
    }

    fn swap(&self, from: u8, to: u8) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
