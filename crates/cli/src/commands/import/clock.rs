use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Utc};
use records::{Clock, SystemClock};

/// A clock that can be put back to the time at which something happened, so that what is imported has its times.
#[derive(Debug, Default)]
pub(crate) struct ImportClock {
    /// The time in milliseconds; 0 for the time of the system.
    milliseconds: AtomicI64,
}

impl ImportClock {
    /// Puts the clock to a time in the past; `None` for the time of the system.
    pub(crate) fn put_to(&self, time: Option<DateTime<Utc>>) {
        let past = time.filter(|time| *time < SystemClock.now());
        let milliseconds = past.map_or(0, |time| time.timestamp_millis().max(1));
        self.milliseconds.store(milliseconds, Ordering::SeqCst);
    }
}

impl Clock for ImportClock {
    fn now(&self) -> DateTime<Utc> {
        match self.milliseconds.load(Ordering::SeqCst) {
            0 => SystemClock.now(),
            milliseconds => {
                DateTime::from_timestamp_millis(milliseconds).unwrap_or_else(|| SystemClock.now())
            }
        }
    }
}
