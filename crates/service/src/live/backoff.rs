use std::time::Duration;

use tokio::time::sleep;

/// The pauses between attempts to repeat a store call: the first is short, each next one twice as long,
/// up to a bound.
///
/// Right after an election the store may show an append some milliseconds late, so the first pause must
/// not delay a subscriber. A store that stays away must not be asked hundreds of times a second, so the
/// pauses grow.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(20);
    const MAX: Duration = Duration::from_secs(1);

    pub(super) fn new() -> Self {
        Self { next: Self::FIRST }
    }

    /// Waits for the next pause, and doubles the one after it.
    pub(super) async fn wait(&mut self) {
        sleep(self.next).await;
        self.next = (self.next * 2).min(Self::MAX);
    }

    /// Starts again with the shortest pause, after a success.
    pub(super) fn reset(&mut self) {
        self.next = Self::FIRST;
    }
}
