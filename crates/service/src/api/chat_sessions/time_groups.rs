//! The groups of a list by time: today, yesterday, this week, this month, earlier.

use chrono::{DateTime, Datelike as _, Days, NaiveDate, Utc};
use chrono_tz::Tz;
use serde::Serialize;
use utoipa::ToSchema;

/// The time zone of a caller.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TimeZone(Tz);

impl TimeZone {
    /// Finds a time zone by its IANA name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        name.parse().ok().map(Self)
    }

    fn date(self, at: DateTime<Utc>) -> NaiveDate {
        at.with_timezone(&self.0).date_naive()
    }
}

/// When something happened, by the days of a time zone. Weeks begin on Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum TimeGroup {
    Today,
    Yesterday,
    /// Earlier in this week.
    ThisWeek,
    /// Earlier in this month, and not in this week.
    ThisMonth,
    Earlier,
}

/// How many chats of a page are in a time group.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct GroupCount {
    group: TimeGroup,
    #[schema(example = 3)]
    count: usize,
}

/// The dates by which times are grouped.
#[derive(Debug)]
pub(super) struct Grouping {
    zone: TimeZone,
    today: NaiveDate,
}

impl Grouping {
    pub(super) fn at(now: DateTime<Utc>, zone: TimeZone) -> Self {
        Self { zone, today: zone.date(now) }
    }

    /// Returns the group of a time. What the clock of another process puts after today is of today.
    pub(super) fn group_of(&self, at: DateTime<Utc>) -> TimeGroup {
        let (date, today) = (self.zone.date(at), self.today);
        let weekday = u64::from(today.weekday().num_days_from_monday());
        let monday = today.checked_sub_days(Days::new(weekday)).unwrap_or(today);
        if date >= today {
            TimeGroup::Today
        } else if Some(date) == today.pred_opt() {
            TimeGroup::Yesterday
        } else if date >= monday {
            TimeGroup::ThisWeek
        } else if (date.year(), date.month()) == (today.year(), today.month()) {
            TimeGroup::ThisMonth
        } else {
            TimeGroup::Earlier
        }
    }
}

/// Counts groups, in the order in which they are.
pub(super) fn counted(groups: impl Iterator<Item = TimeGroup>) -> Vec<GroupCount> {
    let mut counts: Vec<GroupCount> = Vec::new();
    for group in groups {
        match counts.iter_mut().find(|it| it.group == group) {
            Some(counted) => counted.count += 1,
            None => counts.push(GroupCount { group, count: 1 }),
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(now: &str, at: &str, zone: &str) -> TimeGroup {
        let time = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        Grouping::at(time(now), TimeZone::parse(zone).unwrap()).group_of(time(at))
    }

    #[test]
    fn the_days_are_those_of_the_zone() {
        // A Thursday: 00:30 in Berlin, and still Wednesday in UTC and New York.
        let now = "2025-10-15T22:30:00Z";
        for (at, zone, expected) in [
            ("2025-10-15T22:00:00Z", "Europe/Berlin", TimeGroup::Today),
            ("2025-10-15T21:59:59Z", "Europe/Berlin", TimeGroup::Yesterday),
            ("2025-10-15T21:59:59Z", "UTC", TimeGroup::Today),
            ("2025-10-15T03:59:59Z", "America/New_York", TimeGroup::Yesterday),
            ("2025-10-12T22:00:00Z", "Europe/Berlin", TimeGroup::ThisWeek),
            ("2025-10-12T21:59:59Z", "Europe/Berlin", TimeGroup::ThisMonth),
            ("2025-09-30T22:00:00Z", "Europe/Berlin", TimeGroup::ThisMonth),
            ("2025-09-30T21:59:59Z", "Europe/Berlin", TimeGroup::Earlier),
            ("2025-10-16T12:00:00Z", "UTC", TimeGroup::Today),
        ] {
            assert_eq!(group(now, at, zone), expected, "{at} in {zone}");
        }
    }

    #[test]
    fn a_day_without_midnight_is_a_day() {
        // On this day the clocks of Beirut went from 00:00 to 01:00.
        let now = "2025-03-30T10:00:00Z";
        assert_eq!(group(now, "2025-03-29T22:00:00Z", "Asia/Beirut"), TimeGroup::Today);
        assert_eq!(group(now, "2025-03-29T21:59:59Z", "Asia/Beirut"), TimeGroup::Yesterday);
    }
}
