use std::sync::atomic::{AtomicU8, Ordering};

/// Whether something that waits can still be withdrawn, which is between who waits and who serves.
#[derive(Debug, Default)]
pub(super) struct Stage(AtomicU8);

impl Stage {
    const WAITING: u8 = 0;
    const SENT: u8 = 1;
    const WITHDRAWN: u8 = 2;

    pub(super) fn send(&self) -> bool {
        self.swap(Self::WAITING, Self::SENT) || self.is_sent()
    }

    pub(super) fn recall(&self) {
        self.swap(Self::SENT, Self::WAITING);
    }

    pub(super) fn withdraw(&self) -> bool {
        self.swap(Self::WAITING, Self::WITHDRAWN)
    }

    pub(super) fn is_sent(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::SENT
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::WITHDRAWN
    }

    fn swap(&self, from: u8, to: u8) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
