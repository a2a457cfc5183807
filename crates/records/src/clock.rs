use chrono::{DateTime, TimeDelta, Utc};

/// A source of the current time, in whole milliseconds, UTC.
///
/// The store keeps only milliseconds. With a more precise clock, a stored value would differ from the
/// original.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Returns the current time.
    fn now(&self) -> DateTime<Utc>;
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
    fn now(&self) -> DateTime<Utc> {
        whole_milliseconds(Utc::now())
    }
}

/// Removes the fraction of a millisecond.
pub(crate) fn whole_milliseconds(time: DateTime<Utc>) -> DateTime<Utc> {
    truncated(time, TimeDelta::milliseconds(1))
}

/// Returns the beginning of the interval that contains a time. The first interval begins in 1970.
///
/// The length of an interval, `step`, is a whole number of milliseconds, at least one.
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
    fn hours_are_truncated_before_the_epoch_too() {
        let hour = |seconds| {
            let time = DateTime::from_timestamp(seconds, 5).unwrap();
            truncated(time, TimeDelta::hours(1)).timestamp()
        };
        assert_eq!(hour(-1), -3_600);
        assert_eq!(hour(0), 0);
        assert_eq!(hour(7_199), 3_600);
    }

    #[test]
    fn far_years_are_truncated_correctly() {
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
