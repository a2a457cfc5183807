use chrono::{DateTime, DurationRound, TimeDelta, Utc};

/// Tells the time in whole milliseconds, UTC.
///
/// The store keeps milliseconds; a clock that hands out more would make a value differ from itself
/// after a round trip.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Returns the present moment.
    fn now(&self) -> DateTime<Utc>;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
    fn now(&self) -> DateTime<Utc> {
        whole_milliseconds(Utc::now())
    }
}

/// Cuts off what lies below a millisecond.
pub(crate) fn whole_milliseconds(time: DateTime<Utc>) -> DateTime<Utc> {
    time.duration_trunc(TimeDelta::milliseconds(1)).unwrap_or(time)
}
