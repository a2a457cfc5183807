use chrono::{DateTime, TimeDelta, Utc};

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
    truncated(time, TimeDelta::milliseconds(1))
}

/// Returns the beginning of the step that a moment lies in, of steps counted from 1970.
///
/// A step is a whole number of milliseconds, at least one.
#[must_use]
pub fn truncated(time: DateTime<Utc>, step: TimeDelta) -> DateTime<Utc> {
    let milliseconds = time.timestamp_millis();
    let begun = milliseconds.rem_euclid(step.num_milliseconds().max(1));
    DateTime::from_timestamp_millis(milliseconds - begun).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_begin_before_the_epoch_too() {
        let hour = |seconds| {
            let time = DateTime::from_timestamp(seconds, 5).unwrap();
            truncated(time, TimeDelta::hours(1)).timestamp()
        };
        assert_eq!(hour(-1), -3_600);
        assert_eq!(hour(0), 0);
        assert_eq!(hour(7_199), 3_600);
    }

    #[test]
    fn steps_begin_in_far_years_too() {
        let time: DateTime<Utc> = "9999-12-31T23:59:59.999999Z".parse().unwrap();
        for (step, begun) in [
            (TimeDelta::milliseconds(1), "9999-12-31T23:59:59.999Z"),
            (TimeDelta::hours(1), "9999-12-31T23:00:00Z"),
            (TimeDelta::days(1), "9999-12-31T00:00:00Z"),
        ] {
            assert_eq!(truncated(time, step), begun.parse::<DateTime<Utc>>().unwrap());
        }
    }
}
