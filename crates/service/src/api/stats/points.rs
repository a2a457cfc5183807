//! The usage of each entry of a list by hour or by day.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use persistence::{Store, StoreError};
use records::{AppId, Clock as _, Subject, SystemClock, Usage, hour_of};

use super::series::{MAX_POINTS, Step, UsagePoint, steps};
use crate::problem::Problem;

/// The most points of all entries of a list.
const MAX_LISTED_POINTS: i64 = 10_000;

/// The steps for which each entry of a list has a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedSteps {
    step: Step,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
}

impl ListedSteps {
    /// Takes the steps from one moment to another, now by default.
    pub(super) fn new(
        step: Step,
        from: Option<DateTime<Utc>>,
        to: Option<DateTime<Utc>>,
    ) -> Result<Self, Problem> {
        let from = from.ok_or_else(|| {
            Problem::invalid_parameter("step", "needs `from`, where the first step begins")
        })?;
        Ok(Self { step, from, to: to.unwrap_or_else(|| SystemClock.now()) })
    }

    /// Refuses a list that would have too many points.
    pub(super) fn check(self, limit: usize) -> Result<(), Problem> {
        let [first, last] = [self.from, self.to].map(|at| self.step.begin(at));
        let steps = (last - first).num_seconds() / self.step.length().num_seconds() + 1;
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
        self,
        store: &Arc<dyn Store>,
        app_id: &AppId,
        subjects: Vec<Subject>,
    ) -> Result<Vec<Vec<UsagePoint>>, StoreError> {
        let range = hour_of(self.from)..hour_of(self.to) + TimeDelta::hours(1);
        let mut sums: BTreeMap<(Subject, DateTime<Utc>), Usage> = BTreeMap::new();
        for hour in store.hourly_usage(app_id, &subjects, range).await? {
            let key = (hour.subject, self.step.begin(hour.hour));
            sums.entry(key).or_default().merge(&hour.usage);
        }
        let [first, last] = [self.from, self.to].map(|at| self.step.begin(at));
        let points = |subject: Subject| {
            let mut key = (subject, first);
            let point = |at| {
                key.1 = at;
                UsagePoint::new(at, sums.get(&key).copied().unwrap_or_default())
            };
            steps(first, last, self.step).map(point).collect()
        };
        Ok(subjects.into_iter().map(points).collect())
    }
}
