//! The usage of each entry of a list by hour or by day.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use persistence::{Store, StoreError};
use records::{AppId, Subject, Usage};

use super::series::{MAX_POINTS, Step, UsagePoint, steps};
use crate::problem::Problem;

/// The most points of all entries of a list.
const MAX_LISTED_POINTS: i64 = 10_000;

/// The steps for which each entry of a list has a point.
#[derive(Debug)]
pub(super) struct ListedSteps {
    step: Step,
    first: DateTime<Utc>,
    last: DateTime<Utc>,
    /// The hours whose calls are counted: those of the list.
    hours: Range<DateTime<Utc>>,
}

impl ListedSteps {
    pub(super) fn of(step: Step, hours: Range<DateTime<Utc>>) -> Self {
        let [first, last] =
            [hours.start, hours.end - TimeDelta::hours(1)].map(|hour| step.begin(hour));
        Self { step, first, last, hours }
    }

    /// Refuses a list that would have too many points.
    pub(super) fn check(&self, limit: usize) -> Result<(), Problem> {
        let steps = (self.last - self.first).num_seconds() / self.step.length().num_seconds() + 1;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        if steps <= i64::from(MAX_POINTS) && steps.saturating_mul(limit) <= MAX_LISTED_POINTS {
            return Ok(());
        }
        let detail = format!(
            "makes {steps} points for each of {limit} entries; at most {MAX_POINTS} points for each, and {MAX_LISTED_POINTS} in \
             all, are returned: ask for a lower `limit`, longer steps or a shorter range"
        );
        Err(Problem::invalid_parameter("step", detail))
    }

    /// Reads the points of some users, agents or models, one for each step.
    pub(super) async fn read(
        &self,
        store: &Arc<dyn Store>,
        app_id: &AppId,
        subjects: Vec<Subject>,
    ) -> Result<Vec<Vec<UsagePoint>>, StoreError> {
        let mut sums: BTreeMap<Subject, BTreeMap<DateTime<Utc>, Usage>> = BTreeMap::new();
        for hour in store.hourly_usage(app_id, &subjects, self.hours.clone()).await? {
            let of_subject = sums.entry(hour.subject).or_default();
            of_subject.entry(self.step.begin(hour.hour)).or_default().merge(&hour.usage);
        }
        let points = |subject| {
            let sums = sums.remove(&subject).unwrap_or_default();
            let point = |at| UsagePoint::new(at, sums.get(&at).copied().unwrap_or_default());
            steps(self.first, self.last, self.step).map(point).collect()
        };
        Ok(subjects.into_iter().map(points).collect())
    }
}
