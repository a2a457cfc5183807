use std::sync::atomic::{AtomicU8, Ordering};

/// Whether something that waits can still be withdrawn, which is between who waits and who serves.
#[derive(Debug, Default)]
pub(crate) struct Stage(AtomicU8);

impl Stage {
    const WAITING: u8 = 0;
    const SENT: u8 = 1;
    const WITHDRAWN: u8 = 2;

    pub(crate) fn send(&self) -> bool {
        self.swap(Self::WAITING, Self::SENT) || self.is_sent()
    }

    pub(crate) fn recall(&self) {
        self.swap(Self::SENT, Self::WAITING);
    }

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
