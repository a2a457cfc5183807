//! Times in the arguments of commands.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

/// Reads a time, or a date for its first moment in UTC.
pub(crate) fn time(text: &str) -> Result<DateTime<Utc>, &'static str> {
    let time = DateTime::parse_from_rfc3339(text).map(|time| time.with_timezone(&Utc));
    let date = || text.parse::<NaiveDate>().map(|date| date.and_time(NaiveTime::MIN).and_utc());
    time.or_else(|_| date())
        .map_err(|_| "must be a date such as 2026-11-01, or a time with its zone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_or_a_moment() {
        let moment = |text: &str| time(text).map(|time| time.to_rfc3339());
        assert_eq!(moment("2026-11-01").unwrap(), "2026-11-01T00:00:00+00:00");
        assert_eq!(moment("2026-11-01T10:00:00+02:00").unwrap(), "2026-11-01T08:00:00+00:00");
        for bad in ["yesterday", "2026-11-01T10:00:00", "2026-13-01", ""] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
