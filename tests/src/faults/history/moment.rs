use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// A point in time: microseconds since the trial began, on a clock that never goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment(pub u64);

impl Moment {
    /// The time from an earlier moment to this one; none if that one is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// The moment later by a duration.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// The one clock of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts at zero.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The current time.
    pub fn now(self) -> Moment {
        Moment::default().plus(self.0.elapsed())
    }
}
